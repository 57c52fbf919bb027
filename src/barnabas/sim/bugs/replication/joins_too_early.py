"""A follower counts as in sync as soon as it fetches, however far behind it is."""

from barnabas.core.partition.replicas import Follower, LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def may_join(self: LeaderState, replica: int, follower: Follower) -> bool:
        return replica not in self.maximal_isr and self._eligible(replica, follower.broker_epoch)

    return may_join


BUG = Bug("joins-too-early", "a follower is in sync before it has caught up", LeaderState, "may_join", _make, nodes=3)
