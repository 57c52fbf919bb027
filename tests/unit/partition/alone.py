"""The host of a replica in a cluster of one, without the rest of a node."""

from __future__ import annotations

from collections.abc import Callable, Container

from barnabas.broker.clock import Clock
from barnabas.broker.partition.host import SchemaSource
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.slow_openings import Reading
from barnabas.broker.partition.state import read_producers
from barnabas.core.partition.producers import ProducerTotal
from barnabas.storage.segment import Segment


class NoSchemas:
    """Nothing is registered."""

    def identifiers(self, subject: str | None) -> Container[bytes]:
        return ()

    async def catch_up(self) -> None:
        pass


class Alone:
    """The host in a cluster of one."""

    max_lag_ms = 30_000
    stopped_in_order = True

    def __init__(self, node_id: int = 1) -> None:
        self.last_fetches: dict[int, int] = {}
        self.node_id = node_id
        self.producer_total = ProducerTotal()
        self.schemas: SchemaSource = NoSchemas()
        self.steady_ms = Clock().steady_ms

    def eligible(self, broker_id: int, broker_epoch: int) -> bool:
        return False

    def zone_of(self, broker_id: int) -> str | None:
        return None

    def check_isr(self, partition: HostedPartition) -> None:
        pass

    def damaged(self, partition: HostedPartition, damage: str) -> None:
        pass

    def failed(self, error: Exception) -> None:
        pass

    def not_written(self, error: OSError) -> None:
        pass

    def segment_created(self, segment: Segment) -> None:
        pass

    def read_in_thread(self, read: Callable[[], Reading], done: Callable[[Callable[[], Reading]], None]) -> None:
        done(read)

    def rebuild(self, partition: OpenPartition) -> None:
        partition.rebuilt(read_producers(partition.log))
