"""A node with a registry on it for all tests, each with subjects of its own; clusters and faults have their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from tests.support.registry import RegistryProcess
from tests.support.servers import BarnabasNode


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    running = BarnabasNode(tmp_path_factory.mktemp("node"))
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def registry(node: BarnabasNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    serving = RegistryProcess(tmp_path_factory.mktemp("registry"), node.bootstrap)
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


@pytest.fixture
def client(registry: RegistryProcess) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.address}) as opened:
        yield opened
