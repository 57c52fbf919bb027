"""The leader takes its own proposal for granted: it commits without a follower that the controller still counts on."""

from typing import Any

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def proposal(self: Any, *args: Any) -> Any:
        found = right(self, *args)
        if found is not None:
            self.maximal_isr = frozenset(replica for replica, _ in found.isr)
        return found

    return proposal


BUG = Bug(
    "isr-before-answer", "in-sync replicas shrink before the controller agrees", LeaderState, "proposal", _make, nodes=3
)
