"""What goes in and comes out of the controller: one item a topic, partition or resource, each with its own fate.

A request with ten items of which three are wrong does seven and says why for three (partial success). Errors inside one
item are raised as `KafkaError` and turned into the item's result by the caller: nothing of the item is then written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.core.cluster.records import Endpoint
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID


@dataclass(frozen=True, slots=True)
class NewTopic:
    name: str
    num_partitions: int = -1  # -1: the node's num.partitions
    replication_factor: int = -1  # -1: the node's default.replication.factor
    assignments: Sequence[tuple[int, Sequence[int]]] = ()  # (partition, replicas), instead of the two above
    configs: Sequence[tuple[str, str | None]] = ()


@dataclass(frozen=True, slots=True)
class TopicResult:
    name: str
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: bytes = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    name: str | None
    topic_id: bytes
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True)
class MorePartitions:
    name: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One resource: `changes` are (name, operation, value); operations are 0 set, 1 delete, 2 append, 3 subtract."""

    resource_type: int
    resource_name: str
    changes: Sequence[tuple[str, int, str | None]]


@dataclass(frozen=True, slots=True)
class ConfigResult:
    resource_type: int
    resource_name: str
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True)
class ElectionResult:
    topic: str
    partition: int
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionAlteration:
    """A leader's word on who is in sync: `isr` are brokers with their epochs (-1 where it is not known)."""

    topic_id: bytes
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class AlteredPartition:
    topic_id: bytes
    partition: int
    code: ErrorCode = ErrorCode.NONE
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    partition_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Reassignment:
    topic: str
    partition: int
    replicas: Sequence[int] | None  # None takes back the move that is under way


@dataclass(frozen=True, slots=True)
class ReassignmentResult:
    topic: str
    partition: int
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


@dataclass(frozen=True, slots=True)
class OngoingMove:
    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReplicaDirectory:
    """In which directory of the sender a replica lies; LOST_DIRECTORY: its log is damaged or gone."""

    directory_id: bytes
    topic_id: bytes
    partition: int
    code: ErrorCode = ErrorCode.NONE  # in the answer


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker that starts. `fenced=False` is for the node whose controller is in the same process: it is up already.

    `clean` says that its logs hold all they held: it stopped in order, or its process died on a machine that went on.
    When they may not (a power loss), it is no longer in sync or eligible, and where it must lead nevertheless a new
    leader epoch begins, so that a reader of a lost tail finds out (KIP-101). Other `directories` than before mean that
    its disk is another: it has nothing.
    """

    broker_id: int
    incarnation_id: bytes
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    directories: tuple[bytes, ...] = ()
    features: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    fenced: bool = True
    clean: bool = True


@dataclass(frozen=True, slots=True)
class Heartbeat:
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool = False
    want_shutdown: bool = False


@dataclass(frozen=True, slots=True)
class HeartbeatResult:
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


@dataclass(frozen=True, slots=True)
class FeatureUpdate:
    name: str
    max_version_level: int
    upgrade_type: int = 1  # 1 upgrade, 2 safe downgrade, 3 unsafe downgrade
