"""What goes in and comes out of the controller: one item a topic, partition or resource, each with its own fate.

A request with ten items of which three are wrong does seven and says why for three (partial success). Errors inside one
item are raised as `KafkaError` and turned into the item's result by the caller: nothing of the item is then written.

Structs and not dataclasses: twenty dataclasses take 15 ms of a node's start, which writes and compiles code for each.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from barnabas.core.cluster.records import Endpoint
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID


class NewTopic(Struct, frozen=True):
    name: str
    num_partitions: int = -1  # -1: the node's num.partitions
    replication_factor: int = -1  # -1: the node's default.replication.factor
    assignments: Sequence[tuple[int, Sequence[int]]] = ()  # (partition, replicas), instead of the two above
    configs: Sequence[tuple[str, str | None]] = ()


class TopicResult(Struct, frozen=True):
    name: str
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    topic_id: bytes = ZERO_UUID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str] = field(default_factory=dict)


class DeletedTopic(Struct, frozen=True):
    name: str | None
    topic_id: bytes
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class MorePartitions(Struct, frozen=True):
    name: str
    count: int
    assignments: Sequence[Sequence[int]] | None = None


class ConfigChange(Struct, frozen=True):
    """One resource: `changes` are (name, operation, value); operations are 0 set, 1 delete, 2 append, 3 subtract."""

    resource_type: int
    resource_name: str
    changes: Sequence[tuple[str, int, str | None]]


class ConfigResult(Struct, frozen=True):
    resource_type: int
    resource_name: str
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class ElectionResult(Struct, frozen=True):
    topic: str
    partition: int
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class PartitionAlteration(Struct, frozen=True):
    """A leader's word on who is in sync: `isr` are brokers with their epochs (-1 where it is not known)."""

    topic_id: bytes
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: Sequence[tuple[int, int]]


class AlteredPartition(Struct, frozen=True):
    topic_id: bytes
    partition: int
    code: ErrorCode = ErrorCode.NONE
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    partition_epoch: int = -1


class Reassignment(Struct, frozen=True):
    topic: str
    partition: int
    replicas: Sequence[int] | None  # None takes back the move that is under way


class ReassignmentResult(Struct, frozen=True):
    topic: str
    partition: int
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None


class OngoingMove(Struct, frozen=True):
    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class ReplicaDirectory(Struct, frozen=True):
    """In which directory of the sender a replica lies; LOST_DIRECTORY: its log is damaged or gone."""

    directory_id: bytes
    topic_id: bytes
    partition: int
    code: ErrorCode = ErrorCode.NONE  # in the answer


class Registration(Struct, frozen=True):
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


class Heartbeat(Struct, frozen=True):
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool = False
    want_shutdown: bool = False


class HeartbeatResult(Struct, frozen=True):
    is_caught_up: bool
    is_fenced: bool
    should_shut_down: bool


class FeatureUpdate(Struct, frozen=True):
    name: str
    max_version_level: int
    upgrade_type: int = 1  # 1 upgrade, 2 safe downgrade, 3 unsafe downgrade
