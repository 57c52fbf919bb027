"""Two fresh servers, so that "all topics" and "all groups" mean the same on both."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.differential.engine import Tally
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import WireClient, await_group_coordinator

# Kafka waits a second between two assignments of a group; without the wait each answer follows from the request alone.
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "group.consumer.assignment.interval.ms": "0"}


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    server = KafkaNode(tmp_path_factory.mktemp("kafka"), SETTINGS)
    try:
        server.start()
        with WireClient(server.bootstrap) as client:
            await_group_coordinator(client)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode | KafkaNode]:
    """A node of our own; with BARNABAS_TEST_SERVER=kafka a second Apache Kafka, which shows that the rules compare
    fairly."""
    kind = KafkaNode if os.environ.get("BARNABAS_TEST_SERVER") == "kafka" else BarnabasNode
    server = kind(tmp_path_factory.mktemp("compared"), SETTINGS)
    try:
        server.start()
        with WireClient(server.bootstrap) as client:
            await_group_coordinator(client)
        yield server
        assert server.alive(), f"the node died while it was compared\n{server.tail()}"
    finally:
        server.stop()


@pytest.fixture(scope="session")
def tally() -> Tally:
    return Tally()
