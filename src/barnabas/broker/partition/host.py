"""What a replica may ask of the node that hosts it, and the host of a node that is alone in its cluster."""

from typing import TYPE_CHECKING, Any, Protocol

from barnabas.broker.clock import Clock
from barnabas.broker.partition.state import read_producers
from barnabas.core.partition.producers import ProducerTotal
from barnabas.storage.segment import Segment

if TYPE_CHECKING:
    from barnabas.broker.partition.partition import HostedPartition


class ReplicaHost(Protocol):
    node_id: int
    heard: dict[int, int]  # when each broker last fetched anything, in steady milliseconds
    max_lag_ms: int  # replica.lag.time.max.ms
    producer_total: ProducerTotal

    @property
    def stopped_in_order(self) -> bool:
        """The node's logs should hold all they held; after a power loss the cluster knows better."""

    def steady_ms(self) -> int: ...

    def eligible(self, broker_id: int, broker_epoch: int) -> bool:
        """May this broker be in sync, as the image has it?"""

    def isr_due(self, partition: Any) -> None:
        """Somebody may have to join or leave the in-sync replicas."""

    def damaged(self, partition: Any, damage: str) -> None:
        """This replica no longer holds what was written to it."""

    def failed(self, error: Exception) -> None:
        """The disk cannot be written to any more."""

    def not_written(self, error: OSError) -> None:
        """This time; perhaps there is no room."""

    def segment_created(self, segment: Segment) -> None:
        """Its log is there, its index files need not be yet."""

    def rebuild(self, partition: Any) -> None:
        """The end of its log was cut: read what the rest says of its producers, and call `partition.rebuilt`."""


class Alone:
    """Nobody else is there."""

    max_lag_ms = 30_000
    stopped_in_order = True

    def __init__(self, node_id: int = 1) -> None:
        self.heard: dict[int, int] = {}
        self.node_id = node_id
        self.producer_total = ProducerTotal()
        self.steady_ms = Clock().steady_ms

    def eligible(self, broker_id: int, broker_epoch: int) -> bool:
        return False

    def isr_due(self, partition: "HostedPartition") -> None:
        pass

    def damaged(self, partition: "HostedPartition", damage: str) -> None:
        pass

    def failed(self, error: Exception) -> None:
        pass

    def not_written(self, error: OSError) -> None:
        pass

    def segment_created(self, segment: Segment) -> None:
        pass

    def rebuild(self, partition: "HostedPartition") -> None:
        partition.rebuilt(read_producers(partition.log))
