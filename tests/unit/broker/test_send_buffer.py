"""`socket.send.buffer.bytes`: the send buffer of every connection a node accepts."""

import socket
import struct

import pytest

from barnabas.testing import RunningNode, running_node

_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, -1)


def accepted_send_buffer(node: RunningNode) -> int:
    """What the kernel says of the node's end of a new connection."""
    host, port = node.bootstrap.rsplit(":", 1)
    with socket.create_connection((host, int(port)), 10) as client:
        client.sendall(_API_VERSIONS)
        assert client.recv(4)  # answered, so the node has accepted it
        ours = client.getsockname()
        assert node._node is not None
        for connection in list(node._node.listener.connections):
            accepted = connection._transport.get_extra_info("socket")
            if accepted.getpeername() == ours:
                return int(accepted.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF))
    raise AssertionError("the node does not know the connection")


@pytest.mark.parametrize(("settings", "wanted"), [({}, 102_400), ({"socket.send.buffer.bytes": 65_536}, 65_536)])
def test_the_send_buffer_is_as_large_as_set(settings: dict[str, int], wanted: int) -> None:
    with running_node(settings) as node:
        assert accepted_send_buffer(node) == 2 * wanted  # Linux doubles it, for its own bookkeeping


def test_minus_one_leaves_it_to_the_system() -> None:
    with running_node({"socket.send.buffer.bytes": -1}) as node:
        assert accepted_send_buffer(node) > 2 * 102_400  # the kernel gives loopback 2.5 MB
