"""A coordinator goes on after its partition has moved to another node, and answers from what it remembers."""

from typing import Any

from barnabas.broker.coordinator.driver import Coordinators
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def leadership(self: Any, partition: Any, leads: bool) -> None:
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
