"""Two nodes, each a cluster of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.servers import BarnabasNode

FAST = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "log.retention.check.interval.ms": "500",
}


class Pair:
    def __init__(self, folder: Path, **of_source: str) -> None:
        given = {name.replace("_", "."): value for name, value in of_source.items()}
        self.source = BarnabasNode(folder / "source", FAST | given)
        self.target = BarnabasNode(folder / "target", FAST)

    def start(self) -> None:
        self.source.start()
        self.target.start()

    def stop(self) -> None:
        self.source.stop()
        self.target.stop()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()
