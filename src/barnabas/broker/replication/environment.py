"""What replication works with: disk and connections below it, the node's later parts and callbacks above it."""

from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.broker.controller.requests import AskController
from barnabas.broker.metrics.counts import Times
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.peers.table import Peers
from barnabas.broker.replication.fetch_settings import FetchLimits
from barnabas.broker.replication.throttle import Throttle
from barnabas.broker.upkeep.disk_space import DiskSpace

if TYPE_CHECKING:
    from barnabas.broker.partition.table import PartitionTable


class ReplicaIO(NamedTuple):
    threads: Executor
    flush: Callable[[OpenPartition], None]
    disk_space: DiskSpace
    peers: Peers


class ReplicationHooks(NamedTuple):
    partitions: Callable[[], "PartitionTable"]  # made after replication, which is their host
    ask_controller: AskController
    stopped_in_order: Callable[[], bool]  # the last time
    failed: Callable[[BaseException], None]
    leadership_changed: Callable[[HostedPartition], None]  # its leader or leader epoch, or it is deleted


class FetcherHost(Protocol):
    """Replication as a fetcher sees it."""

    @property
    def limits(self) -> FetchLimits: ...
    @property
    def throttle(self) -> Throttle: ...
    @property
    def fetch_times(self) -> Times: ...
    def write_recovery_points(self, then: Callable[[], None]) -> None: ...
    def open_soon(self, partition: HostedPartition, then: Callable[[], None] | None = None) -> bool: ...
