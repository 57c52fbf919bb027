"""A fetch of a broker's former life still moves the high watermark, and brings it back in sync."""

from collections.abc import Callable

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[LeaderState, int, int, int, int, int, int], bool]) -> object:
    def fetched(
        self: LeaderState,
        replica: int,
        broker_epoch: int,
        offset: int,
        start: int,
        leader_end: int,
        now_ms: int,
    ) -> bool:
        follower = self.followers.get(replica)
        if follower is not None:
            broker_epoch = max(broker_epoch, follower.broker_epoch)
            offset = max(offset, follower.offset)
        return right(self, replica, broker_epoch, offset, start, leader_end, now_ms)

    return fetched


BUG = Bug(
    "former-life-counts",
    "progress of a broker's former life counts",
    LeaderState,
    "fetched",
    _make,
    nodes=3,
    scenario="cut-logs",
)
