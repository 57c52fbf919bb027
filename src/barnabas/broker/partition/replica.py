"""One replica of a partition on this node: its name, its log and what is rebuilt from it, opened at first use.

What it does with them, as a leader or as a follower, is in partition/roles.py and partition.py. Decides at opening
whether it is still what it was: a log that ends before what it knew to be committed has lost records and must not
lead.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from barnabas.broker.partition.config import PartitionConfig
from barnabas.broker.partition.host import ReplicaHost
from barnabas.broker.partition.state import PartitionState
from barnabas.core.cluster.image import PartitionImage
from barnabas.core.partition.producers import Producers
from barnabas.core.partition.replicas import LeaderState
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.storage.aborted import AbortedTransactions
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import StorageFatal
from barnabas.storage.log import Log
from barnabas.wire.errors import ProtocolError


class Waiter(Protocol):
    """A parked fetch: is told how many new bytes it may read."""

    def arrived(self, partition: Any, size: int) -> None: ...


class Listener(Protocol):
    """A follower's place in its fetch session."""

    def appended(self) -> None: ...
    def watermark_moved(self) -> None: ...
    def changed(self) -> None: ...


Acknowledge = Callable[[ErrorCode], None]


class Replica(ABC):
    __slots__ = (
        "_acks",
        "_deletions",
        "_flush_requested",
        "_open_log",
        "_replica_host",
        "_unseen_bytes",
        "aborted",
        "config",
        "deleted",
        "flushed_bytes",
        "high_watermark",
        "id",
        "image",
        "is_leader",
        "is_open",
        "leader_epoch",
        "listeners",
        "log",
        "lost",
        "producers",
        "rebuild",
        "replicas",
        "state",
        "topic_id",
        "under_min_isr",
        "untouched",
        "waiters",
        "when_flushed",
        "when_rebuilt",
    )

    log: Log
    producers: Producers
    aborted: AbortedTransactions
    state: PartitionState  # both
    high_watermark: int

    def __init__(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        image: PartitionImage,
        config: PartitionConfig,
        open_log: Callable[[Any], tuple[Log, int]],
        request_flush: Callable[[Any], None],
        around: ReplicaHost,
        *,
        untouched: bool = False,
    ) -> None:
        """`open_log` gives the log and the high watermark last written down. `untouched`: it has no folder yet."""
        self.id = partition
        self.topic_id = topic_id
        self.config = config
        self.deleted = False
        self.is_open = False
        self.lost = False  # it no longer holds what it was in sync for: it must not lead before it is filled again
        self.untouched = untouched
        self.when_flushed: Callable[[], None] | None = None  # for whoever fills this follower
        self.rebuild: object | None = None  # a reading of the log under way; until its end `producers` is not true
        self.when_rebuilt: Callable[[], None] | None = None  # for whoever fills this follower
        self.flushed_bytes = 0  # size of the log when it was last flushed in the background
        self.waiters: list[Waiter] = []
        self.listeners: list[Listener] = []
        self.replicas: LeaderState | None = None  # of a leader that has followers: see _take_replicas
        self.under_min_isr = False
        self._unseen_bytes = 0  # appended, not yet below the high watermark
        self._acks: deque[tuple[int, Acknowledge]] = deque()
        self._deletions: list[tuple[int, Acknowledge]] = []
        self._open_log = open_log
        self._flush_requested = request_flush
        self._replica_host = around
        self.image = image
        self.leader_epoch = image.leader_epoch
        self.is_leader = image.leader == around.node_id
        self._count_isr()

    def open(self) -> None:
        """Raises KafkaError when its folder cannot be opened or has lost committed records."""
        assert not self.is_open, f"{self.id} is open already"
        if self.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.id} is being deleted")
        log, high_watermark = self._open_log(self)
        replicated, spoilt = len(self.image.replicas) > 1, False
        try:
            state = PartitionState.load(log, log.report.transaction_indexes)
        except OSError as error:
            raise self.storage_error(error) from error
        except (Damaged, ProtocolError) as error:  # what its producers did is unknown, so it takes no part
            if self.is_leader or not replicated:
                self._replica_host.damaged(self, str(error))
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
            log.truncate_fully_and_start_at(0)  # the leader fills it again
            state, spoilt = PartitionState.load(log), True
        self.use_state(log, state)
        short = high_watermark > log.log_end_offset and self._replica_host.stopped_in_order
        self.lost = replicated and (short or spoilt)
        self.high_watermark = max(min(high_watermark, log.log_end_offset), log.log_start_offset)
        assert log.log_start_offset <= self.high_watermark <= log.log_end_offset
        self.flushed_bytes = 0 if log.unflushed_records else log.size_bytes
        self.untouched = False
        self.log = log
        self.is_open = True
        if self.lost:
            self._replica_host.damaged(self, f"it ends at {log.log_end_offset}, committed was {high_watermark}")
            if self.is_leader:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.id} has lost committed records")
        elif self.is_leader:
            self._begin_epoch()

    def use_state(self, log: Log, state: PartitionState) -> None:
        self.state = state
        self.producers, self.aborted = state.producers, state.aborted
        self.producers.total = self._replica_host.producer_total
        log.snapshot_source = state.producers.entries
        log.on_segment_created = self._replica_host.segment_created
        self.rebuild = None

    @property
    def end_offset(self) -> int:
        """Where the log ends. One that was never written to has no folder, and is not given one to be asked this."""
        return 0 if self.untouched else self.log.log_end_offset

    @property
    def may_lead(self) -> bool:
        """As far as this replica is concerned: it holds what it stood for, and knows its producers."""
        return not self.lost and self.rebuild is None

    def end_was_cut(self) -> None:
        """What `producers` says may be about records that are gone: it is read from the log anew, which takes 0.6 s for
        40 MiB of small batches and happens in a thread. Until then nothing is appended, no snapshot is written, nothing
        new counts as stable, and this replica does not lead."""
        self.rebuild = object()
        self.log.snapshot_source = None
        self.producers.trust_nothing()
        self._replica_host.rebuild(self)

    def rebuilt(self, producers: Producers) -> None:
        self.use_state(self.log, PartitionState(producers, self.aborted))
        then, self.when_rebuilt = self.when_rebuilt, None
        if then is not None:
            then()

    def configure(self, config: PartitionConfig) -> None:
        """Changed settings, from the next batch on."""
        changed, self.config = config != self.config, config
        if changed:
            if self.is_open:
                self.log.config = config.log
            self._count_isr()
            self.advance_high_watermark()

    @abstractmethod
    def _begin_epoch(self) -> None:
        """We lead, and the log is open."""

    @abstractmethod
    def _count_isr(self) -> None:
        """How many in-sync replicas are enough may have changed."""

    @abstractmethod
    def advance_high_watermark(self) -> None:
        """The high watermark moves as far as it may."""

    def storage_error(self, error: OSError) -> KafkaError:
        self._replica_host.not_written(error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.id}: {error.strerror or error}")

    def storage_failed(self, fatal: StorageFatal) -> None:
        """The disk broke its promise. Where others hold the same, the node had better go and let them."""
        if len(self.image.replicas) > 1:
            self._replica_host.failed(fatal)

    def found_damaged(self, damaged: Damaged) -> None:
        """Bytes of this replica are not what was written; they are not served. Another one may have them whole."""
        self.damaged(str(damaged.damage))

    def damaged(self, damage: str) -> None:
        if len(self.image.replicas) > 1 and not self.deleted:
            self._replica_host.damaged(self, damage)

    def close(self, *, sync: bool = True) -> None:
        if self.is_open:
            self.log.close(sync=sync)
