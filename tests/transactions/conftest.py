"""A server of their own for the tests of transactions: it looks for timed-out transactions often and allows two-phase
commit. With BARNABAS_TEST_SERVER=kafka it is an Apache Kafka, which proves the tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests.conftest import FAST_GROUPS
from tests.support.members import QUIET
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import WireClient
from tests.transactions.requests import await_coordinators

Server = BarnabasNode | KafkaNode
IS_KAFKA = os.environ.get("BARNABAS_TEST_SERVER") == "kafka"
SETTINGS = {
    **FAST_GROUPS,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.min.session.timeout.ms": "1000",
    "transaction.two.phase.commit.enable": "true",
}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    node = (KafkaNode if IS_KAFKA else BarnabasNode)(tmp_path_factory.mktemp("transactions"), SETTINGS)
    try:
        node.start()
        with WireClient(node.bootstrap) as client:
            await_coordinators(client)
        yield node
        assert node.alive(), f"the server died during the tests\n{node.tail()}"
        if not IS_KAFKA:
            assert "Traceback" not in node.tail(100_000), node.tail(200)
    finally:
        node.stop()


@pytest.fixture(scope="session")
def bootstrap(server: Server) -> str:
    return server.bootstrap


@pytest.fixture
def create(bootstrap: str) -> Callable[..., str]:
    """`create(name, partitions, **configs)` (dots as underscores) makes a topic and returns its name."""
    return lambda name, partitions=1, **configs: make_topic(bootstrap, name, partitions, **configs)


def make_topic(bootstrap: str, name: str, partitions: int = 1, **configs: str) -> str:
    config = {key.replace("_", "."): value for key, value in configs.items()}
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(20)
    return name
