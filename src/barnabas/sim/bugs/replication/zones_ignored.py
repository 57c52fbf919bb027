"""Records are acknowledged and committed while too few zones are in sync."""

from barnabas.core.partition.replicas import LeaderState
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def count_zones(self: LeaderState) -> None:
        self.too_few_zones = False

    return count_zones


BUG = Bug(
    "zones-ignored",
    "commits with one zone in sync",
    LeaderState,
    "_count_zones",
    _make,
    nodes=3,
    scenario="zones",
)
