"""On a flushed topic the high watermark moves with the append, and the producer hears of it before the fsync."""

from typing import Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def written(self: Any, next_offset: int, size: int) -> None:
        right(self, next_offset, size)
        self._advance(max(next_offset, self.high_watermark), size)

    return written


BUG = Bug("ack-before-flush", "acknowledges before the fsync", HostedPartition, "_written", _make)
