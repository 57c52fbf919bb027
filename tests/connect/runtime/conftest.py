"""A node for the tests of one folder; those that kill nodes have their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.servers import BarnabasNode


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    running = BarnabasNode(tmp_path_factory.mktemp("node"))
    try:
        running.start()
        yield running
    finally:
        running.stop()
