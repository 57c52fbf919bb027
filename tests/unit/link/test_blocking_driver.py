"""The driver for threads on a real socket: versions and login first, pipelining, deadlines, and servers that lie."""

from __future__ import annotations

import socket
import time

import pytest

from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.errors import LinkDown, LoginFailed, NotKafka, Silent, UnknownApi, Unreachable
from barnabas.link.exchange import ReusedMemory
from barnabas.link.nodes import Nodes
from barnabas.link.sasl import Credentials
from barnabas.link.view import TRANSACTION_KEY, Leader
from barnabas.wire.apis import (
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    FETCH,
    FIND_COORDINATOR,
    HEARTBEAT,
    METADATA,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from tests.unit.link.servers import Conversation, frame, serving

PLAIN = LinkOptions("me", answer_timeout_s=5.0, ask_versions=False)
CLUSTER = {"cluster_id": "c", "controller_id": 4, "brokers": []}


def test_versions_are_asked_first_and_the_newest_common_one_is_used() -> None:
    seen: list[tuple[int, int]] = []

    def story(server: Conversation) -> None:
        server.answer_versions({DESCRIBE_CLUSTER: (0, 1), FETCH: (99, 100)})
        server.answer_next(CLUSTER)
        seen.extend((each.api_key, each.api_version) for each in server.asked)
        server.until_closed()

    with serving(story) as port:
        link = BlockingLink("127.0.0.1", port, LinkOptions("me"))
        assert link.ask(DESCRIBE_CLUSTER, {}).controller_id == 4
        for api_key in (FETCH, METADATA):
            with pytest.raises(UnknownApi):
                link.ask(api_key, {})
        link.close()
    assert seen == [(API_VERSIONS, 0), (DESCRIBE_CLUSTER, 1)]


def test_a_login_comes_before_the_first_request() -> None:
    seen: list[int] = []

    def story(server: Conversation) -> None:
        server.answer_next({"error_code": 0, "mechanisms": ["PLAIN"]})
        server.answer_next({"error_code": 0, "auth_bytes": b""})
        server.answer_next(CLUSTER)
        seen.extend(each.api_key for each in server.asked)

    def refusing(server: Conversation) -> None:
        server.answer_next({"error_code": 0, "mechanisms": ["PLAIN"]})
        server.answer_next({"error_code": 58, "error_message": "no such user", "auth_bytes": b""})
        server.until_closed()  # the client closes

    options = LinkOptions("me", credentials=Credentials("PLAIN", "u", "p"), ask_versions=False)
    with serving(story, refusing) as port:
        link = BlockingLink("127.0.0.1", port, options)
        assert link.call(DESCRIBE_CLUSTER, 0, {}).controller_id == 4
        link.close()
        with pytest.raises(LoginFailed, match=f"127.0.0.1:{port}: the login failed: no such user"):
            BlockingLink("127.0.0.1", port, options)
    assert seen == [SASL_HANDSHAKE, SASL_AUTHENTICATE, DESCRIBE_CLUSTER]


def test_a_login_that_ends_is_repeated_while_nothing_is_in_flight() -> None:
    """KIP-368; the session's lifetime is 20 ms here, so the next login is due after 10."""
    seen: list[int] = []

    def story(server: Conversation) -> None:
        for lifetime_ms in (20, 0):
            server.answer_next({"error_code": 0, "mechanisms": ["PLAIN"]})
            server.answer_next({"error_code": 0, "auth_bytes": b"", "session_lifetime_ms": lifetime_ms})
        server.answer_next(CLUSTER)
        server.answer_next(CLUSTER)
        seen.extend(each.api_key for each in server.asked)

    options = LinkOptions("me", credentials=Credentials("PLAIN", "u", "p"), ask_versions=False)
    with serving(story) as port:
        link = BlockingLink("127.0.0.1", port, options)
        time.sleep(0.02)
        for _ in range(2):
            assert link.call(DESCRIBE_CLUSTER, 0, {}).controller_id == 4
        link.close()
    assert seen == [SASL_HANDSHAKE, SASL_AUTHENTICATE] * 2 + [DESCRIBE_CLUSTER] * 2


def test_requests_in_flight_are_answered_in_order() -> None:
    def story(server: Conversation) -> None:
        headers = [server.read() for _ in range(3)]
        answers = [frame(header, {**CLUSTER, "controller_id": number}) for number, header in enumerate(headers)]
        server.socket.sendall(b"".join(answers))  # one packet, so that they arrive together
        server.until_closed()

    with serving(story) as port:
        link = BlockingLink("127.0.0.1", port, PLAIN)
        assert not link.readable()
        for _ in range(3):
            link.send(DESCRIBE_CLUSTER, 0, {})
        first = link.receive()
        assert link.readable()  # what came with the first answer counts
        assert [first.controller_id, link.receive().controller_id, link.receive().controller_id] == [0, 1, 2]
        link.close()


def test_records_stay_where_they_were_received() -> None:
    records = [bytes([number]) * 3_000_000 for number in (1, 2)]

    def story(server: Conversation) -> None:
        for data in records:
            part = {"partition_index": 0, "error_code": 0, "high_watermark": 1, "records": data}
            server.answer_next({"error_code": 0, "responses": [{"topic": "t", "partitions": [part]}]})

    with serving(story) as port:
        link = BlockingLink("127.0.0.1", port, PLAIN, ReusedMemory())
        blocks = []
        for data in records:
            found = link.call(FETCH, 12, {"topics": []}).responses[0].partitions[0].records
            assert found == data
            blocks.append(found.obj)
        assert blocks[0] is blocks[1]
        link.close()


def test_a_node_that_says_nothing_or_too_little() -> None:
    def silent(server: Conversation) -> None:
        server.read()
        server.until_closed()

    def trickling(server: Conversation) -> None:
        server.read()
        server.socket.sendall((100).to_bytes(4, "big"))
        while True:
            server.socket.sendall(b"\0")  # each byte in time, the answer never
            time.sleep(0.02)

    with serving(silent, trickling) as port:
        for _ in range(2):
            link = BlockingLink("127.0.0.1", port, PLAIN)
            started = time.monotonic()
            with pytest.raises(Silent):
                link.call(DESCRIBE_CLUSTER, 0, {}, timeout_s=0.1)
            assert time.monotonic() - started < 2
            link.close()


@pytest.mark.parametrize(
    "sent",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        (3).to_bytes(4, "big") + b"abc",
        (8).to_bytes(4, "big") + (77).to_bytes(4, "big") + b"body",  # to another request
        (6).to_bytes(4, "big") + (1).to_bytes(4, "big") + b"\xff\xff",  # not the answer to DescribeCluster
    ],
)
def test_what_is_not_kafka(sent: bytes) -> None:
    def story(server: Conversation) -> None:
        server.read()
        server.socket.sendall(sent)
        server.until_closed()

    with serving(story) as port:
        link = BlockingLink("127.0.0.1", port, PLAIN)
        with pytest.raises(NotKafka, match=f"127.0.0.1:{port}: "):
            link.call(DESCRIBE_CLUSTER, 0, {})
        link.close()


@pytest.mark.parametrize("sent", [b"", b"\0\0", (100).to_bytes(4, "big") + b"half of it"])
def test_a_connection_that_closes_in_the_middle(sent: bytes) -> None:
    def story(server: Conversation) -> None:
        server.read()
        server.socket.sendall(sent)

    with serving(story) as port:
        link = BlockingLink("127.0.0.1", port, PLAIN)
        with pytest.raises(LinkDown, match="the connection was closed"):
            link.call(DESCRIBE_CLUSTER, 0, {})
        link.close()


def test_an_address_where_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable) as refused:
        BlockingLink("127.0.0.1", port, PLAIN)
    assert (
        refused.value.reason == "connection refused" and str(refused.value) == f"127.0.0.1:{port}: connection refused"
    )
    with pytest.raises(Unreachable, match="does not resolve"):
        BlockingLink("nowhere.invalid", 9092, PLAIN)


# --- several nodes ----------------------------------------------------------------------------------------------------


def connect(host: str, port: int) -> BlockingLink:
    return BlockingLink(host, port, LinkOptions("me", answer_timeout_s=0.3))


SPOKEN = {DESCRIBE_CLUSTER: (0, 1), METADATA: (0, 12), FIND_COORDINATOR: (0, 4), HEARTBEAT: (0, 4)}


def metadata_of(port: int) -> dict[str, object]:
    part = {"partition_index": 0, "leader_id": 7, "leader_epoch": 3}
    return {
        "brokers": [{"node_id": 7, "host": "127.0.0.1", "port": port}],
        "topics": [{"name": "t", "partitions": [part]}],
    }


def test_a_node_is_found_by_its_id_and_dropped_when_it_breaks() -> None:
    def bootstrap(server: Conversation) -> None:
        server.answer_versions(SPOKEN)
        server.answer_next(metadata_of(server.socket.getsockname()[1]))
        server.answer_next(metadata_of(server.socket.getsockname()[1]))

    def breaking(server: Conversation) -> None:
        server.answer_versions(SPOKEN)
        server.read()

    def answering(server: Conversation) -> None:
        server.answer_versions(SPOKEN)
        server.answer_next({"error_code": 27})

    with serving(bootstrap, breaking, answering) as port:
        nodes = Nodes([("127.0.0.1", port)], connect)
        nodes.look_up(["t"])
        assert nodes.view.leader("t", 0) == Leader(7, 3)
        with pytest.raises(Unreachable, match="node 8 is not there"):
            nodes.link(8)
        nodes.drop_any()  # the server tells one story after the other
        with pytest.raises(LinkDown, match="closed"):
            nodes.ask(7, HEARTBEAT, {"group_id": "g", "generation_id": 1, "member_id": "m"})
        answer = nodes.ask(7, HEARTBEAT, {"group_id": "g", "generation_id": 1, "member_id": "m"})
        assert answer.error_code == 27
        nodes.close()


@pytest.mark.parametrize("newest", [3, 4])
def test_coordinators_of_old_nodes_are_asked_for_one_by_one(newest: int) -> None:
    def story(server: Conversation) -> None:
        server.answer_versions({FIND_COORDINATOR: (0, newest)})
        if newest == 4:
            found = [{"key": key, "node_id": number, "host": "h", "port": 1} for number, key in enumerate("ab")]
            server.answer_next({"coordinators": found})
        else:
            for number in range(2):
                server.answer_next({"error_code": 0, "node_id": number, "host": "h", "port": 1})

    with serving(story) as port:
        nodes = Nodes([("127.0.0.1", port)], connect)
        assert nodes.find_coordinators(TRANSACTION_KEY, ["a", "b"]) == {}
        assert [nodes.view.coordinator(TRANSACTION_KEY, key) for key in "ab"] == [0, 1]
        nodes.close()


def test_the_reasons_of_all_addresses() -> None:
    def silent(server: Conversation) -> None:
        server.read()
        server.until_closed()

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = ("127.0.0.1", free.getsockname()[1])
    with pytest.raises(Unreachable) as refused:
        Nodes([nobody], connect).any()
    assert refused.value.reason == "connection refused"
    with serving(silent) as port, pytest.raises(Silent) as mixed:
        Nodes([nobody, ("127.0.0.1", port)], connect).any()
    assert mixed.value.reason == "connection refused; no answer in time"
