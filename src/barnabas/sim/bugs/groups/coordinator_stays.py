"""A coordinator goes on after its partition has moved to another node, and answers from what it remembers."""

from collections.abc import Callable

from barnabas.broker.coordinator.driver import Coordinators
from barnabas.broker.coordinator.shard import E, M
from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[Coordinators[M, E], HostedPartition, bool], None]) -> object:
    def leadership(self: Coordinators[M, E], partition: HostedPartition, leads: bool) -> None:
        if leads:
            right(self, partition, leads)

    return leadership


BUG = Bug(
    "coordinator-stays",
    "a coordinator outlives its leadership",
    Coordinators,
    "_leadership",
    _make,
    nodes=3,
    scenario="moved-groups",
)
