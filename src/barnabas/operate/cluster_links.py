"""A link from another cluster as its nodes tell it (DescribeLinks): how far it is, how fast, and what is wrong.

Each node tells of the partitions that it leads; all of them together are the link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribedLink, LinkedPartition

PAUSED = "paused"  # the error of a link that somebody has paused

Place = tuple[str, int]


@dataclass
class Progress:
    name: str
    errors: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)  # of these: why the source gives no records
    partitions: list[LinkedPartition] = field(default_factory=list)
    unreached_ms: dict[Place, int] = field(default_factory=dict)  # since when the partition's leader waits for it
    unreached_since_ms: int = -1  # of the node that waits longest; -1: all reach it
    promoted: list[str] = field(default_factory=list)  # topics that came from the source and are ordinary ones now
    synced_ms: int = -1
    users: int = -1  # that came from the source; -1: they do not follow
    own_users: list[str] = field(default_factory=list)  # of the source, left alone here

    def add(self, link: DescribedLink) -> None:
        """What one node tells."""
        for error in (link.error_message, link.sync_error_message):
            if error and error not in self.errors:
                self.errors.append(error)
        self.unreached += [link.error_message] if link.error_message else []
        self.partitions += link.partitions
        if link.unreached_ms >= 0:
            earliest = self.unreached_since_ms if self.unreached_since_ms >= 0 else link.unreached_ms
            self.unreached_since_ms = min(earliest, link.unreached_ms)
            self.unreached_ms |= {(p.topic, p.partition_index): link.unreached_ms for p in link.partitions}
        self.promoted = sorted({*self.promoted, *link.promoted_topics})
        self.synced_ms = max(self.synced_ms, link.synced_ms)
        self.users = max(self.users, link.users)
        self.own_users = sorted({*self.own_users, *link.own_users})
        self.partitions.sort(key=lambda each: (each.topic, each.partition_index))

    @property
    def topics(self) -> list[str]:
        return sorted({partition.topic for partition in self.partitions})

    def lag(self, partition: LinkedPartition) -> int:
        return max(partition.source_end_offset - partition.end_offset, 0)

    @property
    def total_lag(self) -> int:
        return sum(map(self.lag, self.partitions))

    @property
    def is_known(self) -> bool:
        """Has the source said of each where it ends?"""
        return all(partition.source_end_offset >= 0 for partition in self.partitions)

    @property
    def is_well(self) -> bool:
        return not self.errors and not any(partition.error_message for partition in self.partitions)


def seconds_behind(partition: LinkedPartition, now_ms: float) -> float | None:
    """None: it never had all of it."""
    if partition.source_end_offset <= partition.end_offset and partition.source_end_offset >= 0:
        return 0.0
    if partition.caught_up_ms < 0:
        return None
    return max((now_ms - partition.caught_up_ms) / 1000, 0.0)


def rates(found: Progress, before: Progress, seconds: float) -> tuple[float, float]:
    """Records and bytes a second."""
    old = {(p.topic, p.partition_index): p for p in before.partitions}
    records = fetched = 0
    for partition in found.partitions:
        known = old.get((partition.topic, partition.partition_index))
        if known is not None:
            records += max(partition.end_offset - known.end_offset, 0)
            fetched += max(partition.bytes_fetched - known.bytes_fetched, 0)
    return records / seconds, fetched / seconds
