"""The high watermark is one too high after an append."""

from collections.abc import Callable

from barnabas.broker.partition.opened import OpenPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[OpenPartition, int], None]) -> object:
    def flushed(self: OpenPartition, offset: int) -> None:
        right(self, offset + 1)

    return flushed


BUG = Bug("watermark-off-by-one", "the high watermark is one too high", OpenPartition, "flushed", _make)
