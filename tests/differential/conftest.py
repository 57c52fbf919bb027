"""Two fresh servers, so that "all topics" and "all groups" mean the same on both."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.differential.engine import Tally
from tests.support.paths import ROOT
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import WireClient, await_group_coordinator

# Kafka waits a second between two assignments of a group; without the wait each answer follows from the request alone.
# Kafka serves telemetry where a plug-in takes it: the one of Kafka's own tests takes it and does nothing.
SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "metric.reporters": "org.apache.kafka.clients.admin.ClientTelemetryTest$TelemetryExporter",
}
PLUGINS = [ROOT / ".kafka" / "test-libs" / "kafka-clients-integration-tests-4.3.1-test.jar"]


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    server = KafkaNode(tmp_path_factory.mktemp("kafka"), SETTINGS, PLUGINS)
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
    folder, is_kafka = tmp_path_factory.mktemp("compared"), os.environ.get("BARNABAS_TEST_SERVER") == "kafka"
    server = KafkaNode(folder, SETTINGS, PLUGINS) if is_kafka else BarnabasNode(folder, SETTINGS)
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
