"""What the Admin answers with: plain frozen records of topics, settings, groups and the cluster.

Offsets are None where there is none to tell: no leader, nothing committed. Lag has two units on purpose: records say
how much work is left, seconds say how old the news is that a group has not read yet.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class NodeInfo:
    id: int
    host: str
    port: int
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    cluster_id: str | None
    controller: int | None
    nodes: list[NodeInfo]


@dataclass(frozen=True, slots=True)
class TopicInfo:
    name: str
    id: str
    partitions: int
    replication: int
    internal: bool


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    index: int
    leader: int | None
    replicas: list[int]
    isr: list[int]
    start_offset: int | None = None
    end_offset: int | None = None

    @property
    def records(self) -> int | None:
        """How many offsets the log spans; compaction and transactions make the real count smaller."""
        if self.start_offset is None or self.end_offset is None:
            return None
        return self.end_offset - self.start_offset


@dataclass(frozen=True, slots=True)
class ConfigValue:
    value: str | None
    default: str | None
    source: str  # "default", "topic", "node", "cluster", "static", "group"
    read_only: bool = False
    sensitive: bool = False
    synonyms: list[tuple[str, str | None, str]] = field(default_factory=list)  # (name, value, source), strongest first

    @property
    def is_default(self) -> bool:
        return self.source == "default"


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    id: str
    internal: bool
    partitions: list[PartitionInfo]
    configs: dict[str, ConfigValue]

    @property
    def replication(self) -> int:
        return max((len(each.replicas) for each in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class GroupInfo:
    name: str
    state: str  # "Stable", "Empty", "PreparingRebalance", "CompletingRebalance", "Dead", "Unknown"
    protocol: str  # "classic" or "consumer"
    simple: bool  # commits offsets, but never had members


@dataclass(frozen=True, slots=True)
class GroupMember:
    id: str
    client_id: str
    host: str
    instance_id: str | None
    partitions: list[tuple[str, int]]


@dataclass(frozen=True, slots=True)
class GroupPartition:
    topic: str
    partition: int
    committed: int | None
    end: int | None
    lag_records: int | None
    lag_seconds: float | None  # age of the next unread record; 0 when all is read; None when it cannot be told
    member: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class GroupDescription:
    name: str
    state: str
    protocol: str
    assignor: str
    coordinator: NodeInfo | None
    members: list[GroupMember]
    partitions: list[GroupPartition]

    @property
    def lag_records(self) -> int:
        return sum(each.lag_records or 0 for each in self.partitions)

    @property
    def lag_seconds(self) -> float | None:
        """How far behind the slowest partition is."""
        return max((each.lag_seconds for each in self.partitions if each.lag_seconds is not None), default=None)


@dataclass(frozen=True, slots=True)
class OffsetReset:
    topic: str
    partition: int
    before: int | None
    after: int
