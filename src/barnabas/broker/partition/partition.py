"""A partition hosted by this node, as those see it who write to it and read from it.

The appends of a leader pass through `append`: check the batch, ask whether it is new, stamp it, write it, tell those
who wait: followers of new bytes, readers and producers of the high watermark (partition/roles.py). The log is opened
when it is first needed (`UnopenedPartition`), so a partition that nobody uses costs an object and nothing else.

The last stable offset is where the first transaction begins that is still open (or whose marker is not yet safe); a
read_committed reader sees nothing from there on. What was aborted below it is in `aborted`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.broker.partition.replica import Waiter
from barnabas.broker.partition.roles import ENOUGH, RoledReplica
from barnabas.core.partition.producers import Marker
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.disk import StorageFatal
from barnabas.wire import batch as batches
from barnabas.wire.batch import LENGTH_OVERHEAD_BYTES, TRANSACTIONAL_BIT
from barnabas.wire.markers import build_marker
from barnabas.wire.record_validation import Stored
from barnabas.wire.records import Record, build_batch
from barnabas.wire.validate import validate_for_produce

__all__ = ["Appended", "HostedPartition", "UnopenedPartition", "Waiter"]

_AT_FIRST_USE = frozenset({"log", "producers", "aborted", "state", "high_watermark"})
LOOKED_AT_ONCE_MAX = 2_000  # records; about a millisecond
_stamp = batches.stamp
_new = tuple.__new__  # a named tuple's own constructor is a call more
_BEGINS_AT_ZERO_SINCE = 12  # of Produce: each transaction of KIP-890 has its own epoch, so its sequences begin anew


class Appended(NamedTuple):
    base_offset: int
    next_offset: int  # the high watermark at which this append is safe
    log_append_time_ms: int


class HostedPartition(RoledReplica):
    __slots__ = ()

    def append(
        self,
        view: memoryview,
        start: int,
        end: int,
        now_ms: int,
        version: int,
        transactional: bool = False,
        *,
        looked_at: Stored | None = None,
        look_max: int = LOOKED_AT_ONCE_MAX,
    ) -> Appended:
        """Append the one batch in view[start:end], in place; raises KafkaError when it may not be, and leaves it as it
        came then. Raises TakesLong when more than `look_max` records have to be looked at: `looked_at` is the result.

        `transactional`: the request names a transactional id. A batch of a transaction without one is refused
        (CVE-2018-17196), whatever its producer id says.
        """
        config = self.config
        header = validate_for_produce(view, start, end, max_message_bytes=config.max_message_bytes, version=version)
        _, length, _, _, _, attributes, last_delta, oldest, newest, producer_id, _, _, _ = header
        end = start + length + LENGTH_OVERHEAD_BYTES
        if attributes & TRANSACTIONAL_BIT and not transactional:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transaction without its id")
        stored = header
        if config.is_special or newest - now_ms > config.trusted_ahead_ms or newest < oldest:
            if looked_at is None:
                looked_at = config.prepared(view[start:end], header, now_ms, look_max)
            stored = looked_at.header
        log = self.log
        if producer_id >= 0:
            at_zero = transactional and version >= _BEGINS_AT_ZERO_SINCE
            if duplicate := self.producers.check(header, now_ms, begins_at_zero=at_zero):
                return Appended(duplicate.base_offset, duplicate.last_offset + 1, duplicate.timestamp)
        base_offset = log.log_end_offset
        last_offset = base_offset + last_delta
        epoch = self.leader_epoch
        try:
            if stored is header:
                _stamp(view, start, base_offset, length, epoch)
                log.append(view[start:end], base_offset, last_offset, newest, epoch)
            else:
                assert looked_at is not None
                changed = stored._replace(base_offset=base_offset, leader_epoch=epoch)
                data = batches.with_header(view[start:end], changed, looked_at.records)
                log.append(data, base_offset, last_offset, stored.max_timestamp, epoch)
                end = start + len(data)
        except (KafkaError, OSError, StorageFatal) as error:
            batches.write_header(view, start, header)  # as it came: whoever asked may try once more
            if isinstance(error, KafkaError):
                raise
            raise self._not_written(error) from error
        if producer_id >= 0:
            self.producers.appended(stored, base_offset, now_ms)
        next_offset = last_offset + 1
        if self.replicas is None and not config.flushes and not self.waiters and not self._acks:
            self.high_watermark = next_offset  # the usual way of a node that is alone
        else:
            self._written(next_offset, end - start)
        return _new(Appended, (base_offset, next_offset, stored.max_timestamp if config.log_append_time else -1))

    def append_records(
        self,
        records: Sequence[tuple[bytes, bytes | None]],
        now_ms: int,
        transaction: tuple[int, int] | None = None,
    ) -> int:
        """Append records of a coordinator as one batch; gives the offset after them.

        `transaction` is the producer id and epoch of the transaction they belong to.
        """
        base_offset = self.log.log_end_offset
        self.must_lead()
        producer_id, producer_epoch = transaction or (-1, -1)
        data = build_batch(
            [Record(base_offset + i, now_ms, key, value, ()) for i, (key, value) in enumerate(records)],
            leader_epoch=self.leader_epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=transaction is not None,
        )
        header = batches.read_header(data)
        next_offset = base_offset + len(records)
        self._write(memoryview(data), header, base_offset, next_offset - 1)
        if transaction is not None:
            self.producers.opened(producer_id, producer_epoch, base_offset, now_ms, now_ms)
        self._written(next_offset, len(data))
        return next_offset

    def append_marker(self, marker: Marker, now_ms: int) -> int:
        """End a transaction in this partition; gives the offset after the marker."""
        self.must_lead()
        self.producers.check_marker(marker)
        offset = self.log.log_end_offset
        data = build_marker(
            offset=offset,
            timestamp_ms=now_ms,
            leader_epoch=self.leader_epoch,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            commit=marker.commit,
        )
        self._write(memoryview(data), batches.read_header(data), offset, offset)
        try:
            self.state.transaction_ended(self.log, marker, offset, now_ms)
        except OSError as error:
            # Readers would take for committed what the index does not name: without its entry there is no marker.
            self.log.truncate_to(offset)
            raise self.storage_error(error) from error
        self._written(offset + 1, len(data))
        return offset + 1

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producers.first_unstable(self.high_watermark)
        if unstable is None or unstable > self.high_watermark:
            return self.high_watermark
        # Retention and DeleteRecords may have passed the first record of an open transaction.
        return max(unstable, self.log.log_start_offset)

    def _write(self, data: memoryview, header: batches.BatchHeader, base_offset: int, last_offset: int) -> None:
        try:
            self.log.append(data, base_offset, last_offset, header.max_timestamp, self.leader_epoch)
        except (OSError, StorageFatal) as error:
            raise self._not_written(error) from error

    def _not_written(self, error: OSError | StorageFatal) -> KafkaError:
        """What whoever asked for the append is told."""
        if isinstance(error, OSError):
            return self.storage_error(error)
        self.storage_failed(error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def _written(self, next_offset: int, size: int) -> None:
        """Everything about an append is known now, whose transaction it belongs to as well: readers may be told."""
        config = self.config
        state = self.replicas
        if state is None and not config.flushes:
            self._advance(next_offset, size)
            return
        if state is not None:
            self._unseen_bytes += size
            for listener in self.listeners:
                listener.appended()
        if config.flushes and config.flush_messages <= self.log.unflushed_records:
            self._flush_requested(self)
            if config.flush_every_write:
                return  # the high watermark follows the fsync
        if state is not None:
            if len(state.maximal_isr) == 1:
                self.advance_high_watermark()  # else it waits for the followers
        else:
            self._advance(next_offset, size)

    def flushed(self, offset: int) -> None:
        """An fsync has made everything below `offset` durable."""
        log = self.log
        if offset > log.recovery_point:
            log.recovery_point = offset
        if self.when_flushed is not None and not self.deleted:
            then, self.when_flushed = self.when_flushed, None
            then()
        if self.deleted or not self.is_leader or not self.may_lead:
            return
        if self.replicas is not None:
            self.advance_high_watermark()
        elif offset > self.high_watermark:
            self._advance(offset, ENOUGH)


class UnopenedPartition(HostedPartition):
    """As every partition begins: the first use of the log, the producers or the high watermark opens the log. From then
    on it is an ordinary HostedPartition, for a class with `__getattr__` makes every use of an attribute slower."""

    __slots__ = ()

    def __getattr__(self, name: str) -> object:
        if name not in _AT_FIRST_USE:
            raise AttributeError(name)
        self.open()
        return object.__getattribute__(self, name)

    def open(self) -> None:
        try:
            super().open()
        finally:
            if self.is_open:
                self.__class__ = HostedPartition  # type: ignore[assignment]
