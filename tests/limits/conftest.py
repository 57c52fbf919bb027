"""A node for these tests alone, so that its memory and its log tell about them alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers import BarnabasNode


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    server = BarnabasNode(tmp_path_factory.mktemp("limited"), {"group.initial.rebalance.delay.ms": "0"})
    try:
        server.start()
        yield server
        assert server.alive(), f"the node died\n{server.tail()}"
        assert "Traceback" not in server.tail(100_000), "something a client sent became a traceback in the log"
    finally:
        server.stop()
