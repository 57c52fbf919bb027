"""Records are acknowledged and committed while too few replicas are in sync."""

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    return property(lambda self: 1)


BUG = Bug(
    "min-isr-ignored",
    "commits with one replica in sync",
    LeaderState,
    "effective_min_insync",
    _make,
    nodes=3,
    scenario="pairs",
)
