"""The high watermark follows the fastest follower instead of the slowest that is in sync."""

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def committed(self: LeaderState, own_end: int, *_: object) -> int:
        if len(self.isr) >= self.effective_min_insync:
            fastest = max((follower.offset for follower in self.followers.values()), default=own_end)
            self.high_watermark = max(self.high_watermark, min(own_end, fastest))
        return self.high_watermark

    return committed


BUG = Bug("one-follower-is-enough", "committed is what one follower has", LeaderState, "committed", _make, nodes=3)
