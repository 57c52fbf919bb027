"""Every request knows who asks: the connection's session, and through an Envelope the client's, not the node's."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.api import create_topics
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import (
    ANONYMOUS,
    OWN,
    Principal,
    Session,
    packed_address,
    principal_bytes,
    principal_from,
)
from barnabas.broker.node import Node
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire import apis
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.headers import request_header, response_header_bytes
from tests.unit.broker.cluster import Cluster, run

ALICE = Principal("User", "alice", token_authenticated=True)


def test_a_principal_travels_as_kafka_writes_it() -> None:
    assert principal_bytes(Principal("User", "al")) == b"\x00\x00" + b"\x05User" + b"\x03al" + b"\x00" + b"\x00"
    for principal in (ALICE, ANONYMOUS):
        assert principal_from(principal_bytes(principal)) == principal
    assert principal_from(None) == ANONYMOUS
    assert str(ANONYMOUS) == "User:ANONYMOUS"


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x07\x05User\x03al\x00\x00", b"\x00\x00\x05User\x63al"])
def test_bytes_that_are_no_principal_are_refused(data: bytes) -> None:
    with pytest.raises(KafkaError) as refused:
        principal_from(data)
    assert refused.value.code is ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE


def test_an_envelope_carries_the_principal_and_the_address_of_the_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same whether the node that was asked hands the request on or is the active controller by now."""
    seen: list[Session] = []
    real = create_topics.handle

    async def spied(node: Node, request: Any, context: RequestContext) -> Any:
        seen.append(context.session)
        return await real(node, request, context)

    async def story() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            active = await cluster.controller()
            for number, node in enumerate((cluster.others(active)[0], active)):
                monkeypatch.setitem(active.dispatcher._handlers, apis.CREATE_TOPICS, spied)
                topic = {"name": f"t{number}", "num_partitions": 1, "replication_factor": 1}
                frame = request_header(apis.CREATE_TOPICS, 7, 5, "app")
                frame += encode_request(apis.CREATE_TOPICS, 7, {"topics": [topic], "timeout_ms": 5_000})
                client = Session("10.0.0.9", "10.0.0.7", 9092, "PLAINTEXT", ALICE)
                answer = await node.controller.link.forward(frame, client, 10_000)
                found = decode_response(apis.CREATE_TOPICS, 7, answer, response_header_bytes(apis.CREATE_TOPICS, 7))
                assert found.topics[0].error_code == 0
                assert (seen[-1].principal, seen[-1].client_host) == (ALICE, "10.0.0.9")
        finally:
            cluster.drop()

    run(story)
    assert len(seen) == 2


def test_a_connection_has_a_session_with_its_listener_and_the_clients_software(tmp_path: Path) -> None:
    async def story() -> None:
        cluster = Cluster(tmp_path, 1)
        await cluster.start()
        node = cluster.nodes[1]
        try:
            port = node.endpoints[0].port
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            frame = request_header(apis.API_VERSIONS, 3, 1, "app")
            body = {"client_software_name": "apache-kafka-java", "client_software_version": "4.3.0"}
            frame += encode_request(apis.API_VERSIONS, 3, body)
            writer.write(len(frame).to_bytes(4, "big") + frame)
            await reader.readexactly(4)
            sessions = [connection.session for connection in node.listener.connections]
            session = next(found for found in sessions if found.software_name == "apache-kafka-java")
            assert session.software_version == "4.3.0"
            assert (session.listener, session.listener_port) == (node.endpoints[0].name, port)
            assert (session.principal, session.client_host) == (ANONYMOUS, "127.0.0.1")
            writer.close()
        finally:
            cluster.drop()

    run(story)


def test_what_is_no_address_is_left_out_of_an_envelope() -> None:
    assert packed_address("10.0.0.9") == bytes([10, 0, 0, 9])
    assert packed_address(OWN.client_host) == b""
