"""When nobody is in sync any more, any replica that is up leads, and what it does not have is gone."""

from typing import Any

from barnabas.core.cluster.rules import Rules
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def read(self: Any, topic: Any) -> Any:
        return right(self, topic)._replace(unclean=True)

    return read


BUG = Bug(
    "any-replica-leads",
    "unclean elections although nobody asked for them",
    Rules,
    "_read",
    _make,
    nodes=3,
    scenario="pairs",
)
