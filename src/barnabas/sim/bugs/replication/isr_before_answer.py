"""The leader takes its own proposal for granted: it commits without a follower that the controller still counts on."""

from collections.abc import Callable, Mapping

from barnabas.core.partition.replicas import IsrChange, LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[LeaderState, int, int, int, Mapping[int, int]], IsrChange | None]) -> object:
    def proposal(
        self: LeaderState, leader_end: int, now_ms: int, max_lag_ms: int, heard: Mapping[int, int]
    ) -> IsrChange | None:
        found = right(self, leader_end, now_ms, max_lag_ms, heard)
        if found is not None:
            self.maximal_isr = frozenset(replica for replica, _ in found.isr)
        return found

    return proposal


BUG = Bug(
    "isr-before-answer", "in-sync replicas shrink before the controller agrees", LeaderState, "proposal", _make, nodes=3
)
