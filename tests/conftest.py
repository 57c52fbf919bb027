"""Fixtures of the tests against running servers.

The same tests run against any server: BARNABAS_TEST_BOOTSTRAP=host:port points them at one that is up already;
BARNABAS_TEST_SERVER=kafka starts a real Apache Kafka instead of a node (which proves the tests, not the node).
"""

from __future__ import annotations

import os
import re
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support import bytecode, figures
from tests.support.java import JavaTools
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import WireClient, await_group_coordinator

bytecode.keep_bytecode()

# How long an example may take says something about the machine, not about the code.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would every command they try it on.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

figure = figures.figure

# Where a warning fails the test: a pipe that is not closed, a coroutine that nobody awaits, a deprecated call.
# Spark's own Python (pyspark, py4j, pandas) warns of itself.
HERE = Path(__file__).parent
WARNINGS_ARE_ERRORS = frozenset(each.name for each in HERE.iterdir() if each.is_dir()) - {"spark"}

# What a node needs for tests to be quick: groups form at once, and members of the new protocol beat three times a
# second, not every five.
FAST_GROUPS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.session.timeout.ms": "1000",
}


# A node that a test kills inside its process leaves sockets to the collector, which runs in any later test.
# Python 3.13.0 fails in doing that: asyncio's transport asks a server that is closed already to forget it.
KILLED_NODES = (
    "ignore:unclosed transport:ResourceWarning",
    "ignore:unclosed <socket:ResourceWarning",
    "ignore:Exception ignored in. <function _SelectorTransport.__del__:pytest.PytestUnraisableExceptionWarning",
)
# kafka-python reads its schemas by a function that Python deprecated (kafka/protocol/schemas/load_json.py).
KAFKA_PYTHON = ("ignore:(read|open)_text is deprecated:DeprecationWarning",)


def pytest_addoption(parser: pytest.Parser) -> None:
    figures.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    figures.configure(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    figures.leave_out(config, items)
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] in WARNINGS_ARE_ERRORS:
            item.add_marker(pytest.mark.filterwarnings("error", *KILLED_NODES, *KAFKA_PYTHON), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failing test shows the end of the log of each server it used."""
    report = yield
    if report.failed:  # type: ignore[attr-defined]
        for name in ("server", "node"):
            server = getattr(item, "funcargs", {}).get(name)
            if isinstance(server, BarnabasNode):
                report.sections.append((f"log of {name}", server.tail()))  # type: ignore[attr-defined]
    return report


# Records of tests have timestamps of 2023: five minutes after the start of the node, retention would delete them.
NO_RETENTION = {"log.retention.check.interval.ms": "86400000"}


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode | KafkaNode | None]:
    """The server under test; None when it is somebody else's (BARNABAS_TEST_BOOTSTRAP)."""
    if "BARNABAS_TEST_BOOTSTRAP" in os.environ:
        yield None
        return
    folder = tmp_path_factory.mktemp("server")
    kind = KafkaNode if os.environ.get("BARNABAS_TEST_SERVER") == "kafka" else BarnabasNode
    node = kind(folder, {**FAST_GROUPS, **NO_RETENTION})
    try:
        node.start()
        with WireClient(node.bootstrap) as client:
            await_group_coordinator(client)
        yield node
        assert node.alive(), f"the server died during the tests\n{node.tail()}"
    finally:
        node.stop()


@pytest.fixture(scope="session")
def bootstrap(server: BarnabasNode | KafkaNode | None) -> str:
    return server.bootstrap if server else os.environ["BARNABAS_TEST_BOOTSTRAP"]


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    """A real Apache Kafka, to compare with."""
    node = KafkaNode(tmp_path_factory.mktemp("kafka"), FAST_GROUPS)
    try:
        node.start()
        with WireClient(node.bootstrap) as client:
            await_group_coordinator(client)
        yield node
    finally:
        node.stop()


@pytest.fixture(scope="session")
def kafka_bootstrap(kafka: KafkaNode) -> str:
    return kafka.bootstrap


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaTools]:
    tools = JavaTools(tmp_path_factory.mktemp("java"))
    yield tools
    tools.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A fresh topic name that tells which test it belongs to."""
    name = re.sub(r"[^a-zA-Z0-9.-]+", "-", request.node.name)[:60].strip("-")
    return f"{name}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def group(topic: str) -> str:
    return f"group-{topic}"


@pytest.fixture
def wire(bootstrap: str) -> Iterator[WireClient]:
    with WireClient(bootstrap) as client:
        yield client


@pytest.fixture
def make_node(tmp_path: Path) -> Iterator[Any]:
    """`make_node(**settings)`: further nodes of the kind under test, each with its own settings (dots as
    underscores), stopped at the end."""
    nodes: list[BarnabasNode | KafkaNode] = []

    def make(settings: dict[str, str] | None = None) -> BarnabasNode | KafkaNode:
        kind = KafkaNode if os.environ.get("BARNABAS_TEST_SERVER") == "kafka" else BarnabasNode
        node = kind(tmp_path / f"node-{len(nodes)}", {**FAST_GROUPS, **(settings or {})})
        nodes.append(node)
        node.start()
        return node

    yield make
    for node in nodes:
        node.stop()
