"""What a replica uses of the node that hosts it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.partition.slow_openings import Reading
from barnabas.core.partition.producers import ProducerTotal
from barnabas.storage.segment import Segment
from barnabas.wire.schema_ids import Registered

if TYPE_CHECKING:
    from barnabas.broker.partition.opened import OpenPartition
    from barnabas.broker.partition.partition import HostedPartition


class ReplicaHost(Protocol):
    node_id: int
    last_fetches: dict[int, int]  # when each broker last fetched anything, in steady milliseconds
    max_lag_ms: int  # replica.lag.time.max.ms
    producer_total: ProducerTotal

    @property
    def schemas(self) -> "SchemaSource":
        """What the schema ids of records are compared with, where a topic asks for it."""

    @property
    def stopped_in_order(self) -> bool:
        """The last stop was no power loss: a log that ends before its checkpointed high watermark has lost records."""

    def steady_ms(self) -> int: ...

    def eligible(self, broker_id: int, broker_epoch: int) -> bool:
        """May this broker be in sync, by the image?"""

    def zone_of(self, broker_id: int) -> str | None:
        """Where the broker stands (`broker.rack`), by the image."""

    def check_isr(self, partition: "HostedPartition") -> None:
        """A replica may have to join or leave the in-sync replicas."""

    def damaged(self, partition: "HostedPartition", damage: str) -> None:
        """Records of this replica are lost or damaged."""

    def failed(self, error: Exception) -> None:
        """The disk has failed for good."""

    def not_written(self, error: OSError) -> None:
        """A write failed; perhaps the disk is full."""

    def segment_created(self, segment: Segment) -> None:
        """A segment has its log file; its index files are made later."""

    def read_in_thread(self, read: Callable[[], Reading], done: Callable[[Callable[[], Reading]], None]) -> None:
        """A replica is opened that takes long to read. `done` gets the result of `read`, as a function."""

    def rebuild(self, partition: "OpenPartition") -> None:
        """The end of its log was cut: read what the rest says of its producers, and call `partition.rebuilt`."""


class SchemaSource(Registered, Protocol):
    async def catch_up(self) -> None:
        """Until everything is known that was registered before; a retriable KafkaError when that cannot be."""
