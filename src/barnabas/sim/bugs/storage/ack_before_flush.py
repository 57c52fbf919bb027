"""On a flushed topic the high watermark moves with the append, and the producer hears of it before the fsync."""

from collections.abc import Callable

from barnabas.broker.partition.leader_appends import LeaderAppends
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[LeaderAppends, int, int], None]) -> object:
    def written(self: LeaderAppends, next_offset: int, size: int) -> None:
        right(self, next_offset, size)
        self._opened.advance_to(max(next_offset, self._opened.high_watermark), size)

    return written


BUG = Bug("ack-before-flush", "acknowledges before the fsync", LeaderAppends, "written", _make)
