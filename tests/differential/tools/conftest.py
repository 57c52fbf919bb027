"""Servers of their own: what tools leave, topics and groups, would show in the answers that are compared elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pytest

from tests.differential.conftest import PLUGINS, SETTINGS
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import WireClient, await_group_coordinator

Server = TypeVar("Server", BarnabasNode, KafkaNode)


@pytest.fixture(scope="package")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    yield from running(KafkaNode(tmp_path_factory.mktemp("kafka"), SETTINGS, PLUGINS))


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    yield from running(BarnabasNode(tmp_path_factory.mktemp("node"), SETTINGS))


def running(server: Server) -> Iterator[Server]:
    try:
        server.start()
        with WireClient(server.bootstrap) as client:
            await_group_coordinator(client)
        yield server
    finally:
        server.stop()
