"""The appends of a leader: a producer's batch, a coordinator's records, the marker that ends a transaction.

A producer's batch is checked, compared with what its producer has sent, stamped with its base offset and leader epoch,
and written; then followers learn of new bytes, and, where nothing else has to happen first, readers and producers of
the high watermark.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.core.partition.producers import Marker
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.disk import StorageFatal
from barnabas.wire import batch as batches
from barnabas.wire.batch import LENGTH_OVERHEAD_BYTES, TRANSACTIONAL_BIT
from barnabas.wire.markers import build_marker
from barnabas.wire.record_validation import Stored
from barnabas.wire.records import Record, build_batch
from barnabas.wire.validate import validate_for_produce

if TYPE_CHECKING:
    from barnabas.broker.partition.opened import OpenPartition

VALIDATED_AT_ONCE_MAX = 2_000  # records; about a millisecond
_stamp = batches.stamp
_new = tuple.__new__  # a named tuple's own constructor is a call more
_BEGINS_AT_ZERO_SINCE = 12  # of Produce: each transaction of KIP-890 has its own epoch, so its sequences begin anew


class Appended(NamedTuple):
    base_offset: int
    next_offset: int  # the high watermark at which this append is safe
    log_append_time_ms: int


class LeaderAppends:
    __slots__ = ("_opened",)

    def __init__(self, opened: "OpenPartition") -> None:
        self._opened = opened

    def append(
        self,
        view: memoryview,
        start: int,
        end: int,
        now_ms: int,
        version: int,
        transactional: bool = False,
        *,
        validated: Stored | None = None,
        records_max: int = VALIDATED_AT_ONCE_MAX,
    ) -> Appended:
        """Append the one batch in view[start:end], in place; raises KafkaError when it may not be, and leaves it as it
        came then. Raises TakesLong when more than `records_max` records have to be validated: `validated` is the
        result.

        `transactional`: the request names a transactional id. A batch of a transaction without one is refused
        (CVE-2018-17196), whatever its producer id says.
        """
        opened = self._opened
        partition = opened.partition
        config = partition.config
        header = validate_for_produce(view, start, end, max_message_bytes=config.max_message_bytes, version=version)
        _, length, _, _, _, attributes, last_delta, oldest, newest, producer_id, _, _, _ = header
        end = start + length + LENGTH_OVERHEAD_BYTES
        if attributes & TRANSACTIONAL_BIT and not transactional:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transaction without its id")
        stored = header
        if config.is_special or newest - now_ms > config.trusted_ahead_ms or newest < oldest:
            if validated is None:
                validated = config.prepared(view[start:end], header, now_ms, records_max, partition.schemas)
            stored = validated.header
        log = opened.log
        if producer_id >= 0:
            at_zero = transactional and version >= _BEGINS_AT_ZERO_SINCE
            if duplicate := opened.producers.check(header, now_ms, begins_at_zero=at_zero):
                return Appended(duplicate.base_offset, duplicate.last_offset + 1, duplicate.timestamp)
        base_offset = log.log_end_offset
        last_offset = base_offset + last_delta
        epoch = partition.leader_epoch
        try:
            if stored is header:
                _stamp(view, start, base_offset, length, epoch)
                log.append(view[start:end], base_offset, last_offset, newest, epoch)
            else:
                assert validated is not None
                changed = stored._replace(base_offset=base_offset, leader_epoch=epoch)
                data = batches.with_header(view[start:end], changed, validated.records)
                log.append(data, base_offset, last_offset, stored.max_timestamp, epoch)
                end = start + len(data)
        except (KafkaError, OSError, StorageFatal) as error:
            batches.write_header(view, start, header)  # as it came: the caller may try once more
            if isinstance(error, KafkaError):
                raise
            raise self._not_written(error) from error
        if producer_id >= 0:
            opened.producers.appended(stored, base_offset, now_ms)
        next_offset = last_offset + 1
        counts = partition.counts
        counts.produces += 1
        counts.bytes_in += end - start
        waiters = opened.waiters
        if partition.leadership.state is None and not (config.flushes or waiters.fetches or waiters.acks):
            opened.high_watermark = next_offset  # the usual way of a node that is alone
        else:
            self.written(next_offset, end - start)
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
        opened = self._opened
        opened.partition.must_lead()
        base_offset = opened.log.log_end_offset
        producer_id, producer_epoch = transaction or (-1, -1)
        data = build_batch(
            [Record(base_offset + i, now_ms, key, value, ()) for i, (key, value) in enumerate(records)],
            leader_epoch=opened.partition.leader_epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transactional=transaction is not None,
        )
        next_offset = base_offset + len(records)
        self._write(data, base_offset, next_offset - 1)
        if transaction is not None:
            opened.producers.opened(producer_id, producer_epoch, base_offset, now_ms, now_ms)
        self.written(next_offset, len(data))
        return next_offset

    def append_marker(self, marker: Marker, now_ms: int) -> int:
        """End a transaction in this partition; gives the offset after the marker."""
        opened = self._opened
        opened.partition.must_lead()
        opened.producers.check_marker(marker)
        offset = opened.log.log_end_offset
        data = build_marker(
            offset=offset,
            timestamp_ms=now_ms,
            leader_epoch=opened.partition.leader_epoch,
            producer_id=marker.producer_id,
            producer_epoch=marker.producer_epoch,
            coordinator_epoch=marker.coordinator_epoch,
            commit=marker.commit,
        )
        self._write(data, offset, offset)
        try:
            opened.state.transaction_ended(opened.log, marker, offset, now_ms)
        except OSError as error:
            # Readers would take for committed what the index does not name: without its entry there is no marker.
            opened.log.truncate_to(offset)
            raise opened.partition.storage_error(error) from error
        self.written(offset + 1, len(data))
        return offset + 1

    def _write(self, data: bytes | bytearray, base_offset: int, last_offset: int) -> None:
        newest, epoch = batches.read_header(data).max_timestamp, self._opened.partition.leader_epoch
        try:
            self._opened.log.append(memoryview(data), base_offset, last_offset, newest, epoch)
        except (OSError, StorageFatal) as error:
            raise self._not_written(error) from error
        counts = self._opened.partition.counts
        counts.produces += 1
        counts.bytes_in += len(data)

    def _not_written(self, error: OSError | StorageFatal) -> KafkaError:
        """The error for the caller."""
        partition = self._opened.partition
        if isinstance(error, OSError):
            return partition.storage_error(error)
        partition.storage_failed(error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))

    def written(self, next_offset: int, size: int) -> None:
        """Everything about an append is known now, whose transaction it belongs to as well: the high watermark may
        follow."""
        opened = self._opened
        partition = opened.partition
        config, leadership = partition.config, partition.leadership
        state = leadership.state
        if state is None and not config.flushes:
            opened.advance_to(next_offset, size)
            return
        if state is not None:
            leadership.unseen_bytes += size
            for slot in leadership.slots:
                slot.appended()
        if config.flushes and config.flush_messages <= opened.log.unflushed_records:
            partition.request_flush(opened)
            if config.flush_every_write:
                return  # the high watermark follows the fsync
        if state is not None:
            if len(state.maximal_isr) == 1:
                leadership.advance_high_watermark()  # else it waits for the followers
        else:
            opened.advance_to(next_offset, size)
