"""What is known of a cluster at one moment: nodes, topics, partitions, groups. What pages are made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.observe.overview import Overview


@dataclass(frozen=True, slots=True)
class Node:
    id: int
    host: str
    port: int
    rack: str | None
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Partition:
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]

    @property
    def is_under_replicated(self) -> bool:
        return len(self.in_sync) < len(self.replicas)


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    id: str
    internal: bool
    partitions: tuple[Partition, ...]

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    kind: str  # classic, consumer, share
    state: str
    protocol: str
    coordinator: int


@dataclass(frozen=True, slots=True)
class LogFolder:
    node: int
    path: str
    total_bytes: int
    usable_bytes: int
    error: int
    held_bytes: int = 0  # by the partitions in it


@dataclass(frozen=True, slots=True)
class Membership:
    members: int
    topics: frozenset[str]  # that its members own partitions of


TopicPartition = tuple[str, int]
Place = tuple[str, int, int]  # topic, partition and offset


@dataclass(slots=True)
class Facts:
    """Replaced part by part as answers come; every part is whole."""

    at: float = 0.0  # of the epoch; 0: nothing is known yet
    cluster_id: str = ""
    controller: int = -1
    nodes: dict[int, Node] = field(default_factory=dict)
    topics: dict[str, Topic] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    starts: dict[TopicPartition, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # bytes of a topic, all replicas
    folders: list[LogFolder] = field(default_factory=list)
    groups: dict[str, Group] = field(default_factory=dict)
    committed: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    spark: frozenset[str] = frozenset()  # groups that show how far a Spark query is
    membership: dict[str, Membership] = field(default_factory=dict)  # of groups that have members
    written: dict[Place, int] = field(default_factory=dict)  # ms: where groups stand; negative: nothing to read there
    metrics: Overview | None = None  # of nodes that serve them
    problem: str = ""  # why it is not up to date

    def size(self, topic: str) -> int | None:
        """None where no node tells how full its disks are, which needs a right."""
        return self.sizes.get(topic, 0) if self.folders else None

    def lag(self, group: str) -> int | None:
        """Records that the group has not read, over the partitions that it has committed."""
        offsets = self.committed.get(group)
        if offsets is None:
            return None
        return sum(max(0, self.ends[each] - offset) for each, offset in offsets.items() if each in self.ends)

    def partition_seconds(self, partition: TopicPartition, offset: int) -> float | None:
        """How old the first record is that a reader at this offset has not read; None: not known, or not yet."""
        if self.ends.get(partition, 0) <= offset:
            return 0.0 if partition in self.ends else None
        written = self.written.get((*partition, offset))
        return None if written is None else max(0.0, self.at - written / 1000) if written >= 0 else 0.0

    def seconds(self, group: str) -> float | None:
        """The same for a group: of the partition that is furthest behind."""
        offsets = self.committed.get(group)
        if not offsets:
            return None
        known = [self.partition_seconds(partition, offset) for partition, offset in offsets.items()]
        return max((each for each in known if each is not None), default=None)
