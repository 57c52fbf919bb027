"""The leader counts what it has written itself as committed: it acknowledges before its followers have it."""

from typing import Any

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def committed(self: Any, own_end: int, *_: Any) -> int:
        self.high_watermark = max(self.high_watermark, own_end)
        return int(self.high_watermark)

    return committed


BUG = Bug("ack-before-isr", "acknowledges before the followers have it", LeaderState, "committed", _make, nodes=3)
