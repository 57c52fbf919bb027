"""Strangers who connect and do not log in: they have a quarter of the places, and nobody who logs in is kept out."""

import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.wire.apis import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from barnabas.wire.codec import encode_request
from tests.security.conftest import PROTOCOLS, SecuredNode, settings
from tests.security.test_before_login import framed, logged_in
from tests.support.members import until
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

PLACES = 120
QUARTER = PLACES // 4
FLOODS = 60


def another_node(secured: SecuredNode, folder: Path, **more: str) -> Iterator[SecuredNode]:
    ports = {name: free_port() for name in PROTOCOLS}
    server = secured.authority.issue("node-1", "nodes")
    told = settings(ports, secured.authority.file, server) | more
    node = BarnabasNode(folder / "node", told, port=ports["OPEN"])
    node.start()
    yield replace(secured, node=node, ports=ports)
    node.stop()


@pytest.fixture
def small(secured: SecuredNode, tmp_path: Path) -> Iterator[SecuredNode]:
    """A node with few places for connections."""
    yield from another_node(secured, tmp_path, **{"max.connections": str(PLACES)})


@pytest.fixture
def slow(secured: SecuredNode, tmp_path: Path) -> Iterator[SecuredNode]:
    """A node that lets a failed login wait for long: what comes behind it is not read."""
    yield from another_node(secured, tmp_path, **{"connection.failed.authentication.delay.ms": "60000"})


def is_open(stranger: socket.socket) -> bool:
    stranger.setblocking(False)
    try:
        return stranger.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.parametrize("listener", ["LOGIN", "SECURE"])
def test_strangers_do_not_take_all_places(small: SecuredNode, listener: str) -> None:
    first = logged_in(small, listener, "PLAIN")
    strangers: list[socket.socket] = []
    try:
        for _ in range(3):
            for _ in range(PLACES):
                strangers.append(socket.create_connection(("127.0.0.1", small.ports[listener]), 5))
            link = logged_in(small, listener, "PLAIN")
            assert link.ask(METADATA, {"topics": []}).brokers
            link.close()
        until(lambda: sum(map(is_open, strangers)) <= QUARTER, "all but a quarter are closed")
        assert sum(map(is_open, strangers[-QUARTER // 2 :])) == QUARTER // 2, "the newest stay"
        assert first.ask(METADATA, {"topics": []}).brokers
        first.close()
    finally:
        for stranger in strangers:
            stranger.close()
    until(lambda: f"more than {QUARTER} others" in small.node.tail(), "the log says so")


def test_what_comes_while_a_tls_connection_is_not_read_is_not_kept(slow: SecuredNode) -> None:
    """Beyond what a socket's buffer in the kernel takes; a TLS transport kept 0.5 MiB more before."""
    context = ssl.create_default_context(cafile=str(slow.authority.file))
    handshake = framed(SASL_HANDSHAKE, 1, encode_request(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}))
    wrong = framed(SASL_AUTHENTICATE, 1, encode_request(SASL_AUTHENTICATE, 1, {"auth_bytes": b"\0alice\0wrong"}))
    floods: list[ssl.SSLSocket] = []
    for _ in range(FLOODS):
        plain = socket.create_connection(("127.0.0.1", slow.ports["SECURE"]), 5)
        floods.append(context.wrap_socket(plain, server_hostname="127.0.0.1"))
        floods[-1].sendall(handshake)
        assert floods[-1].recv(4096)
    try:
        for flood in floods:
            flood.sendall(wrong)
            flood.setblocking(False)
            send_some(flood, handshake)  # this may still be read together with the login
        before = settled_rss(slow.node)
        taken_at = time.monotonic()
        while time.monotonic() < taken_at + 0.5:  # until nobody takes any more
            if sum(send_some(flood, handshake) for flood in floods):
                taken_at = time.monotonic()
            else:
                time.sleep(0.05)
        assert (settled_rss(slow.node) - before) / FLOODS < 64 * 1024
    finally:
        for flood in floods:
            flood.close()


def send_some(flood: ssl.SSLSocket, request: bytes) -> bool:
    """Requests that can be read: others would end the connection."""
    try:
        return flood.send(request * (65_536 // len(request))) > 0
    except (ssl.SSLWantWriteError, BlockingIOError):
        return False


def settled_rss(node: BarnabasNode) -> int:
    """Once it has not grown for a moment."""
    last, now = 0, node.rss_bytes()
    while now != last:
        time.sleep(0.2)
        last, now = now, node.rss_bytes()
    return now
