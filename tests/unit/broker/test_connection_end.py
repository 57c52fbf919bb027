"""A connection that ends with an answer (a broker that sends clients away) ends when all of the answer has left."""

import socket
import struct
import time

from barnabas import Admin
from barnabas.testing import RunningNode, running_node
from barnabas.wire.codec import encode_request
from tests.support.wire import METADATA

_PARTITIONS = 4_000
_VERSION = 8


def slow_client(node: RunningNode) -> socket.socket:
    """Takes a few kilobytes at a time."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    client.settimeout(20)
    host, port = node.bootstrap.rsplit(":", 1)
    client.connect((host, int(port)))
    return client


def everything(client: socket.socket) -> bytes:
    received = bytearray()
    while part := client.recv(65_536):
        received += part
    return bytes(received)


def test_an_answer_that_the_socket_does_not_take_at_once_arrives_whole() -> None:
    body = {
        "topics": None,
        "allow_auto_topic_creation": False,
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
    }
    with running_node({"socket.send.buffer.bytes": 4_096}) as node, slow_client(node) as client:
        with Admin(node.bootstrap) as admin:
            admin.create_topic("wide", partitions=_PARTITIONS)
        assert node._node is not None
        node._node.lifecycle.sends_away = lambda _: True  # type: ignore[assignment, method-assign]
        payload = struct.pack(">hhih", METADATA, _VERSION, 7, -1) + encode_request(METADATA, _VERSION, body)
        client.sendall(struct.pack(">i", len(payload)) + payload)
        time.sleep(0.3)  # the sockets' buffers are full by then
        answer = everything(client)
        assert len(answer) == 4 + struct.unpack(">i", answer[:4])[0] and len(answer) > 20 * _PARTITIONS
