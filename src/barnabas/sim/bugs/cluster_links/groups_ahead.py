"""Offsets of groups are brought over without a look at how far the records have come."""

from collections.abc import Iterable

from barnabas.broker.cluster_links.groups import GroupSync
from barnabas.model.ids import TopicPartition
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    async def ends(self: GroupSync, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 1 << 60)

    return ends


BUG = Bug(
    "groups-ahead",
    "offsets of groups come over before their records",
    GroupSync,
    "_ends",
    _make,
    nodes=6,
    scenario="linked",
)
