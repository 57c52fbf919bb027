"""A replica that the metadata assigns to this node: what is known of it without its log, and `open()`, which gives the
rest.

A partition that nobody uses costs this object and nothing else: its folder is opened when somebody needs what is in it
(opened.py). No attribute here touches the disk.

| the image says       | this replica                                                                                |
|----------------------|---------------------------------------------------------------------------------------------|
| we lead, a new epoch | begins the epoch at the end of its log, accepts appends, counts its followers (`leadership`) |
| we lead, as before   | updates its replicas and in-sync replicas                                                   |
| another leads        | refuses everybody who waits; a fetcher fills it (follower_log.py)                           |

Decides at opening whether the log still holds what it held: one that ends before what it knew to be committed has lost
records and must not lead.
"""

from collections.abc import Callable
from functools import partial
from typing import NoReturn

from barnabas.broker.metrics.counts import TopicCounts
from barnabas.broker.partition.config import PartitionConfig
from barnabas.broker.partition.host import ReplicaHost
from barnabas.broker.partition.leadership import Leadership
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.slow_openings import BeingOpened, Reading, read_state, takes_long
from barnabas.broker.partition.state import PartitionState
from barnabas.core.cluster.image import PartitionImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import StorageFatal
from barnabas.storage.log import Log
from barnabas.wire.schema_ids import SchemaCheck

# Of an opening that failed: it is tried again after so many times what it took. One that reads all of a damaged log
# takes 0.6 s for 40 MB of small batches, and clients ask for the partition ten times a second.
_REFUSED_TIMES = 100
_REFUSED_MAX_MS = 60_000
_REFUSED_LATE_MS = 10  # then a thread reads it the next time


class HostedPartition:
    __slots__ = (
        "_host",
        "_open_log",
        "_refusal",
        "_refused_late",
        "_refused_until_ms",
        "_uncounted_from",
        "_waiting",
        "config",
        "counts",
        "deleted",
        "id",
        "image",
        "is_leader",
        "leader_epoch",
        "leadership",
        "lost",
        "opened",
        "request_flush",
        "schemas",
        "topic_id",
        "untouched",
    )

    def __init__(
        self,
        partition: TopicPartition,
        topic_id: bytes,
        image: PartitionImage,
        config: PartitionConfig,
        open_log: Callable[["HostedPartition"], tuple[Log, int]],
        request_flush: Callable[[OpenPartition], None],
        host: ReplicaHost,
        *,
        counts: TopicCounts | None = None,
        untouched: bool = False,
    ) -> None:
        """`open_log` gives the log and the high watermark last written down. `untouched`: it has no folder yet."""
        self.id = partition
        self.topic_id = topic_id
        self.config = config
        self.schemas = self._schema_check(config, host)
        self.counts = TopicCounts() if counts is None else counts  # of its topic
        self._uncounted_from: int | None = None  # of a leader: the first record that is not in `counts` yet
        self.deleted = False
        self.opened: OpenPartition | None = None
        self.lost = False  # it no longer holds what it was in sync for: it must not lead before it is filled again
        self.untouched = untouched
        self.request_flush = request_flush
        self._open_log = open_log
        self._refusal = ""  # why it could not be opened the last time
        self._refused_until_ms = 0
        self._refused_late = False  # and that took long
        self._waiting: list[Callable[[], None]] | None = None  # for the thread that reads it, if one does
        self._host = host
        self.image = image
        self.leader_epoch = image.leader_epoch
        self.is_leader = image.leader == host.node_id
        self.leadership = Leadership(self, host)
        self.leadership.check_min_isr()

    @property
    def is_open(self) -> bool:
        return self.opened is not None

    @property
    def may_lead(self) -> bool:
        """It holds the records that it was in sync for, and knows its producers."""
        opened = self.opened
        return not self.lost and (opened is None or opened.rebuild is None)

    # --- opening ------------------------------------------------------------------------------------------------------

    def open(self, *, wait: bool = False) -> OpenPartition:
        """The open partition; the first call opens the folder. Raises KafkaError when that cannot be opened or has
        lost committed records, and BeingOpened where a thread reads it. `wait`: read it here, however long it takes."""
        return self.opened or self._try_open(wait)

    @property
    def is_being_opened(self) -> bool:
        return self._waiting is not None

    def when_opened(self, then: Callable[[], None]) -> None:
        """Call `then` when the thread that reads it has opened it, or could not."""
        assert self._waiting is not None
        self._waiting.append(then)

    def _try_open(self, wait: bool) -> OpenPartition:
        if self.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.id} is being deleted")
        if self._waiting is not None:
            raise BeingOpened(self.id)
        began_ms = self._host.steady_ms()
        if began_ms < self._refused_until_ms:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, self._refusal)
        if self._refused_late and not wait:
            self._read_in_thread(lambda: read_state(*self._open_log(self)), began_ms)
        try:
            log, high_watermark = self._open_log(self)
            if not wait and takes_long(log):
                self._read_in_thread(partial(read_state, log, high_watermark), began_ms)
            return self._adopt(read_state(log, high_watermark))
        except OSError as error:
            raise self._refused(self.storage_error(error), began_ms) from error
        except BeingOpened:
            raise
        except KafkaError as error:
            raise self._refused(error, began_ms) from None

    def _read_in_thread(self, read: Callable[[], Reading], began_ms: int) -> NoReturn:
        self._waiting = []
        self._host.read_in_thread(read, partial(self._was_read, began_ms))
        raise BeingOpened(self.id)

    def _was_read(self, began_ms: int, result: Callable[[], Reading]) -> None:
        """The thread is done."""
        waiting, self._waiting = self._waiting or [], None
        try:
            if self.deleted:
                result().log.let_go()  # its folder is removed by the table (table.py)
            else:
                self._adopt(result())
        except OSError as error:
            self._refused(self.storage_error(error), began_ms)
        except KafkaError as error:
            self._refused(error, began_ms)
        for then in waiting:
            then()

    def _refused(self, error: KafkaError, began_ms: int) -> KafkaError:
        now_ms = self._host.steady_ms()
        took_ms = now_ms - began_ms
        self._refusal, self._refused_late = error.message, took_ms > _REFUSED_LATE_MS
        self._refused_until_ms = now_ms + min(took_ms * _REFUSED_TIMES, _REFUSED_MAX_MS)
        return error

    def _adopt(self, reading: Reading) -> OpenPartition:
        log, high_watermark, state, damage = reading
        replicated = len(self.image.replicas) > 1
        if state is None:  # its producers are unknown, so it cannot be used
            if self.is_leader or not replicated:
                self._host.damaged(self, str(damage))
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(damage)) from damage
            log.truncate_fully_and_start_at(0)  # the leader fills it again
            state = PartitionState.load(log)
        opened = OpenPartition(self, log, state, high_watermark, self._host)
        short = high_watermark > log.log_end_offset and self._host.stopped_in_order
        self.lost = replicated and (short or damage is not None)
        self.untouched, self._refused_late = False, False
        self.opened = opened
        if self.lost:
            self._host.damaged(self, f"it ends at {log.log_end_offset}, committed was {high_watermark}")
            if self.is_leader:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.id} has lost committed records")
        elif self.is_leader:
            self._begin_epoch(opened)
        return opened

    # --- roles --------------------------------------------------------------------------------------------------------

    def apply_image(self, image: PartitionImage) -> None:
        """Become what the cluster's image says of this partition now."""
        assert image.leader_epoch >= self.leader_epoch, f"{self.id}: leader epoch {image.leader_epoch} is an old one"
        led, self.image = self.is_leader, image
        self._refused_until_ms = 0  # a follower is filled anew where a leader is refused
        self.is_leader = image.leader == self._host.node_id
        newer = image.leader_epoch != self.leader_epoch
        self.leader_epoch = image.leader_epoch
        opened, leadership = self.opened, self.leadership
        if led and (newer or not self.is_leader):
            self.count_messages()
            self._uncounted_from = None
            leadership.state = None
            if opened is not None:
                opened.log.epochs.truncate_from_end(opened.log.log_end_offset)  # an epoch that we wrote nothing in
            self._refuse_waiting(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.is_leader and self.may_lead:
            if opened is not None and (newer or not led):
                self._lead(opened)
            elif opened is not None or leadership.state is not None:
                leadership.update_replicas()
        leadership.check_min_isr()

    def _lead(self, opened: OpenPartition) -> None:
        self._begin_epoch(opened)
        if self.config.flush_every_write and opened.log.unflushed_records:
            self.request_flush(opened)  # what a follower has not flushed yet counts for nothing

    def _begin_epoch(self, opened: OpenPartition) -> None:
        """We lead: from the end of our log on, batches carry our epoch (KIP-101); those of a link carry that of the
        source's leader."""
        self._uncounted_from = opened.log.log_end_offset
        if not self.config.link:
            opened.log.epochs.assign(self.leader_epoch, opened.log.log_end_offset)
        self.leadership.update_replicas()

    def count_messages(self) -> None:
        """What was appended here, by its offsets: when somebody asks, or it no longer leads. An append need not."""
        if self._uncounted_from is not None and self.opened is not None:
            end = self.opened.log.log_end_offset
            self.counts.messages_in += end - self._uncounted_from
            self._uncounted_from = end

    def producers_rebuilt(self) -> None:
        if self.is_leader and not self.lost and self.opened is not None:  # it was elected meanwhile
            self._lead(self.opened)
            self.leadership.check_min_isr()

    def accept_loss(self) -> None:
        """No other replica can lead: this one leads with what it still has."""
        self.lost = False
        if self.is_leader and self.opened is not None and self.may_lead:
            self._begin_epoch(self.opened)
            self.leadership.check_min_isr()

    def must_lead(self) -> None:
        """Raises KafkaError where this node may not append: callers keep the partition for longer than a request."""
        if self.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.id} is being deleted")
        if not self.is_leader or (self.opened is not None and self.opened.rebuild is not None):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this node does not lead {self.id}")
        if self.config.link:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{self.id} is filled by the link {self.config.link!r}")
        if self.leadership.under_min_isr:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, f"too few replicas of {self.id} are in sync")

    def _refuse_waiting(self, code: ErrorCode) -> None:
        """Everybody who waits for this leader has to find the next one."""
        opened, leadership = self.opened, self.leadership
        acks = opened.waiters.remove_acks() if opened is not None else []
        deletions = leadership.remove_deletions()
        if opened is not None:
            opened.waiters.wake_fetches(opened)
        leadership.recheck_followers()
        for acknowledge in (*acks, *deletions):
            acknowledge(code)

    def configure(self, config: PartitionConfig) -> None:
        """Changed settings, from the next batch on."""
        changed, self.config = config != self.config, config
        if changed:
            self.schemas = self._schema_check(config, self._host)
            if self.opened is not None:
                self.opened.log.config = config.log
            self.leadership.isr_changed()

    def _schema_check(self, config: PartitionConfig, host: ReplicaHost) -> SchemaCheck | None:
        """What the schema ids in its records are compared with; None, as a rule: with nothing."""
        return None if config.schemas is None else config.schemas.of_topic(self.id.topic, host.schemas)

    async def catch_up_schemas(self) -> None:
        """Before a batch is refused for a schema that may have been registered a moment ago."""
        await self._host.schemas.catch_up()

    # --- failures -----------------------------------------------------------------------------------------------------

    def storage_error(self, error: OSError) -> KafkaError:
        self._host.not_written(error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.id}: {error.strerror or error}")

    def storage_failed(self, fatal: StorageFatal) -> None:
        """The disk has failed for good. Where other replicas have the records, the node stops so that they lead."""
        if len(self.image.replicas) > 1:
            self._host.failed(fatal)

    def found_damaged(self, damaged: Damaged) -> None:
        """Bytes of this replica are not what was written; they are not served. Another one may have them whole."""
        self.damaged(str(damaged.damage))

    def damaged(self, damage: str) -> None:
        if len(self.image.replicas) > 1 and not self.deleted:
            self._host.damaged(self, damage)

    # --- the end ------------------------------------------------------------------------------------------------------

    def delete(self) -> None:
        """The topic is gone, or this replica of it: refuse everybody who waits, and close the files."""
        self.count_messages()
        self._uncounted_from = None
        self.deleted, self.is_leader, self.leadership.state = True, False, None
        self._refuse_waiting(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if self.opened is not None:
            self.opened.log.let_go()  # its folder is removed by the table (table.py)
