"""Strangers who connect and do not log in: they have a quarter of the places, and nobody who logs in is kept out."""

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.wire.apis import METADATA
from tests.security.conftest import PROTOCOLS, SecuredNode, settings
from tests.security.test_before_login import logged_in
from tests.support.members import until
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

PLACES = 120
QUARTER = PLACES // 4


@pytest.fixture
def small(secured: SecuredNode, tmp_path: Path) -> Iterator[SecuredNode]:
    """A node with few places for connections."""
    ports = {name: free_port() for name in PROTOCOLS}
    server = secured.authority.issue("node-1", "nodes")
    told = settings(ports, secured.authority.file, server) | {"max.connections": str(PLACES)}
    node = BarnabasNode(tmp_path / "node", told, port=ports["OPEN"])
    node.start()
    yield replace(secured, node=node, ports=ports)
    node.stop()


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
