"""A promotion changes the setting and begins no new leader epoch, so leaders do not hear of it."""

from barnabas.core.cluster import links
from barnabas.core.cluster.image import TopicImage
from barnabas.core.cluster.records import Record
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def promoted(topic: TopicImage) -> list[Record]:
        return []

    return promoted


BUG = Bug(
    "promotion-without-epoch",
    "a promotion begins no new leader epoch",
    links,
    "_promoted",
    _make,
    nodes=6,
    scenario="linked",
)
