"""A new leader knows nothing of the producers: what the old one wrote and did not acknowledge is written again."""

from collections.abc import Callable

from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.partition.producers import Producers
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[HostedPartition, OpenPartition], None]) -> object:
    def begin_epoch(self: HostedPartition, opened: OpenPartition) -> None:
        right(self, opened)
        opened.producers = opened.state.producers = Producers()

    return begin_epoch


BUG = Bug(
    "sequences-lost-on-failover",
    "a new leader does not know the producers' sequences",
    HostedPartition,
    "_begin_epoch",
    _make,
    nodes=3,
)
