"""A new leader knows nothing of the producers: what the old one wrote and did not acknowledge is written again."""

from typing import Any

from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.partition.producers import Producers
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def begin_epoch(self: Any) -> None:
        right(self)
        self.producers = self.state.producers = Producers()

    return begin_epoch


BUG = Bug(
    "sequences-lost-on-failover",
    "a new leader does not know the producers' sequences",
    HostedPartition,
    "_begin_epoch",
    _make,
    nodes=3,
)
