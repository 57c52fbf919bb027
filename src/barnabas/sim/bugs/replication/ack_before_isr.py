"""The leader counts what it has written itself as committed: it acknowledges before its followers have it."""

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def committed(self: LeaderState, own_end: int, *_: object) -> int:
        self.high_watermark = max(self.high_watermark, own_end)
        return self.high_watermark

    return committed


BUG = Bug("ack-before-isr", "acknowledges before the followers have it", LeaderState, "committed", _make, nodes=3)
