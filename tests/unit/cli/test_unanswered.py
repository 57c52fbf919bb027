"""What commands say of servers that do not answer as a node does, and of nodes that go while they are asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure
from barnabas.client.errors import CannotReach
from barnabas.model.errors import ErrorCode
from barnabas.testing import RunningNode, running_cluster
from barnabas.wire.apis import DESCRIBE_CLUSTER, METADATA
from tests.support.process import free_port
from tests.unit.cli.typed import Typed


@contextmanager
def server(answer: bytes | None) -> Iterator[str]:
    """Somebody who answers whatever comes with these bytes, and then closes; None: who never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        kept: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                kept.append(connection)
                if answer is not None:
                    connection.recv(1000)
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_RDWR)

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            for each in kept:
                each.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.common.link.SERVING_S", 0.2)
    monkeypatch.setattr("barnabas.cli.doctor.probe.TIMEOUT_S", 0.2)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (None, "takes connections, but does not answer: it waits for its quorum, or is another service"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the answer is not Kafka's"),
        (b"", "before an answer came: it may be another service, or wait for TLS"),
    ],
)
def test_whoever_is_no_node_is_told_apart(typed: Typed, answer: bytes | None, told: str) -> None:
    with server(answer) as address:
        said = typed("user", "list", "-b", address)
    assert said.code == 1 and address in said.err and told in said.err and said.err.count("\n") == 1


def test_a_node_that_waits_for_its_quorum_is_unavailable(typed: Typed) -> None:
    with server(None) as address:
        said = typed("cluster", "status", "-b", address, "--json")
    assert said.code == 4 and said.json()["health"] == "unavailable"


def test_a_node_that_goes_is_asked_no_more_and_another_one_is() -> None:
    with running_cluster(2, {"broker.session.timeout.ms": 2000}) as nodes, Cluster(nodes.bootstrap) as cluster:
        assert cluster.node_settings(["node.id"])["node.id"] == "1"
        nodes.nodes[1].stop()
        assert cluster.node_settings(["node.id"])["node.id"] == "2", "the first one does not answer"
        with pytest.raises(Failure, match=r"node 1 at 127\.0\.0\.1") as down:
            cluster.ask(1, DESCRIBE_CLUSTER, {})
        assert "doctor" in down.value.way_out or down.value.way_out == ""
        body = {"topics": [], "allow_auto_topic_creation": False}
        assert len(cluster.ask_any(METADATA, body).brokers) >= 1
        host, port = cluster.brokers[1]
        with pytest.raises(Failure, match=f"{host}:{port}: "):
            cluster.ask_at((host, port), METADATA, body)


def test_all_nodes_have_gone(barnabas_node: RunningNode) -> None:
    with Cluster(barnabas_node.bootstrap) as cluster:
        barnabas_node.stop()
        with pytest.raises(CannotReach, match="Is a node up"):
            cluster.ask_any(DESCRIBE_CLUSTER, {})
        with pytest.raises(CannotReach, match="Is a node up"):
            cluster.ask_briefly(DESCRIBE_CLUSTER, {}, 0.2)
        assert cluster.node_settings(["node.id"]) == {}
        with pytest.raises(Failure):
            cluster.coordinator("shop-1")


def test_a_no_of_the_quorum_says_where_to_look() -> None:
    failed = refused(ErrorCode.NOT_CONTROLLER, "move orders-0", "h:1")
    assert failed.line() == (
        "move orders-0: the quorum has no leader. See which voters are down: barnabas cluster status -b h:1"
    )
    assert refused(ErrorCode.INVALID_REQUEST, "x", told="too long").message.endswith("invalid request: too long")
    assert refused(ErrorCode.INVALID_REQUEST, "x", told="Invalid request.").message.endswith("it: invalid request")


def test_the_doctor_says_what_is_wrong_with_each_address(typed: Typed) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    with server(b"") as stranger:
        said = typed("doctor", "-b", f"{nowhere},{stranger}", "--data", "/")
    assert said.code == 1
    assert any(line.startswith(f"fail reach {nowhere}: ") for line in said.lines())
    assert "→ Is a node up there? Start one: barnabas up" in said.lines()
    assert any(line.startswith(f"fail reach {stranger}: ") for line in said.lines())
    assert "→ Check the address." in said.lines()
    said = typed("doctor", "-b", "127.0.0.1:port", "--json")
    assert said.code == 1 and said.json()["node"][0]["status"] == "fail"
