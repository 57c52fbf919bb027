"""A fetch of a broker's former life still moves the high watermark, and brings it back in sync."""

from typing import Any

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def fetched(self: Any, replica: int, broker_epoch: int, offset: int, *args: Any) -> Any:
        follower = self.followers.get(replica)
        if follower is not None:
            broker_epoch = max(broker_epoch, follower.broker_epoch)
            offset = max(offset, follower.offset)
        return right(self, replica, broker_epoch, offset, *args)

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
