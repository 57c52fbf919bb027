"""When nobody is in sync any more, any replica that is up leads, and what it does not have is gone."""

from collections.abc import Callable

from barnabas.core.cluster.image import TopicImage
from barnabas.core.cluster.partitions.rules import Rules, TopicRules
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[Rules, TopicImage], TopicRules]) -> object:
    def read(self: Rules, topic: TopicImage) -> TopicRules:
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
