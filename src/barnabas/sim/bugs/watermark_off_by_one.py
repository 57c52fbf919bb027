"""The high watermark is one too high after an append."""

from typing import Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def flushed(self: Any, offset: int) -> None:
        right(self, offset + 1)

    return flushed


BUG = Bug("watermark-off-by-one", "the high watermark is one too high", HostedPartition, "flushed", _make)
