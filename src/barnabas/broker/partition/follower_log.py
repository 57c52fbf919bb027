"""The follower's part of an open partition: it appends what the leader sent, and cuts the end where the logs diverge.

Bytes are the leader's own: offsets and epochs are in them already, and they are appended unchanged once their CRC was
found right (S7: what a disk or a network damaged on the way must not get into a second log). The producers' sequences,
the open transactions and the index of the aborted ones follow each batch, so this replica can lead at any moment.

Leader epochs say where the logs diverge (KIP-101, KIP-279, on Fetch since KIP-595): the leader answers a fetch whose
last epoch it does not have with the largest epoch it has below, and where that one ended.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.partition.state import PartitionState
from barnabas.broker.partition.waiters import ENOUGH
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import StorageFatal
from barnabas.storage.indexes.aborted import AbortedTransactions
from barnabas.wire.batch import MAGIC, BatchHeader, crc_matches, iter_batches
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.broker.partition.opened import OpenPartition

log = logging.getLogger(__name__)


class FollowerLog:
    """`when_flushed` and `when_rebuilt` are called once, for the fetcher: the log can be named in a fetch again."""

    __slots__ = ("_opened", "when_flushed", "when_rebuilt")

    def __init__(self, opened: "OpenPartition") -> None:
        self._opened = opened
        self.when_flushed: Callable[[], None] | None = None
        self.when_rebuilt: Callable[[], None] | None = None

    def log_flushed(self) -> None:
        if self.when_flushed is not None:
            then, self.when_flushed = self.when_flushed, None
            then()

    def producers_rebuilt(self) -> None:
        if self.when_rebuilt is not None:
            then, self.when_rebuilt = self.when_rebuilt, None
            then()

    # --- appending ----------------------------------------------------------------------------------------------------

    def append(self, records: memoryview) -> None:
        """Append what the leader sent; a last batch that is incomplete is left for the next fetch. Raises KafkaError
        when it cannot be: CORRUPT_MESSAGE for bytes that are not the leader's, KAFKA_STORAGE_ERROR for a disk that
        fails."""
        opened = self._opened
        try:
            for position, header in iter_batches(records):
                if header.magic != MAGIC or not crc_matches(records, position, header.size):
                    raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{opened.id}: a fetched batch fails its CRC")
                self._append(header, records[position : position + header.size])
        except ProtocolError as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{opened.id}: {error}") from error

    def _append(self, header: BatchHeader, batch: memoryview) -> None:
        own, partition = self._opened.log, self._opened.partition
        if header.base_offset < own.log_end_offset:
            if own.log_start_offset != own.log_end_offset or header.last_offset < own.log_end_offset:
                raise KafkaError(
                    ErrorCode.CORRUPT_MESSAGE,
                    f"{partition.id}: a batch at {header.base_offset} was fetched, "
                    f"the log ends at {own.log_end_offset}",
                )
            # The leader's log starts inside of this batch (DeleteRecords), and so does ours.
            own.truncate_fully_and_start_at(header.base_offset, own.log_start_offset)
        try:
            own.append(
                batch,
                base_offset=header.base_offset,
                last_offset=header.last_offset,
                max_timestamp=header.max_timestamp,
                leader_epoch=header.leader_epoch,
            )
            assert own.log_end_offset == header.last_offset + 1
            partition.counts.replication_bytes_in += len(batch)
        except OSError as error:
            raise partition.storage_error(error) from error
        except StorageFatal as fatal:
            partition.storage_failed(fatal)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(fatal)) from fatal
        try:
            self._opened.state.replay(own, header, batch)
        except (OSError, ProtocolError) as error:
            own.truncate_to(header.base_offset)  # what the index of aborted transactions lacks must not be in the log
            if isinstance(error, OSError):
                raise partition.storage_error(error) from error
            raise

    def leader_committed(self, offset: int) -> None:
        """The high watermark of the leader: ours follows as far as our log goes."""
        opened = self._opened
        end = opened.log.log_end_offset
        if opened.partition.lost and offset <= end:
            opened.partition.lost = False  # filled again
        offset = min(offset, end)
        if offset > opened.high_watermark:
            opened.advance_to(offset, ENOUGH)

    def advance_log_start(self, offset: int) -> bool:
        """The leader's log starts later now (DeleteRecords, retention); gives whether ours moved."""
        own = self._opened.log
        offset = min(offset, self._opened.high_watermark)
        if offset <= own.log_start_offset:
            return False
        own.advance_log_start(offset)
        return True

    # --- truncating ---------------------------------------------------------------------------------------------------

    def truncation_point(self, epoch: int, end_offset: int) -> int:
        """Where our log has to end, given the leader's answer: its largest epoch not above ours, and that epoch's
        end."""
        own = self._opened.log
        known, known_end = own.epochs.end_offset_for(epoch, own.log_end_offset)
        if known < 0:
            return min(end_offset, own.log_end_offset)
        if known == epoch:
            return min(end_offset, known_end, own.log_end_offset)
        return min(known_end, own.log_end_offset)  # we never had that epoch: all above what we had before it goes

    def truncate(self, offset: int) -> bool:
        """Cut the end of the log; gives whether anything was cut. Its producers are read from the rest after that
        (`OpenPartition.rebuild`). Raises KafkaError when the index of aborted transactions cannot be cut."""
        opened = self._opened
        own = opened.log
        before = own.log_end_offset
        aborted = opened.aborted
        own.truncate_to(offset)
        end = own.log_end_offset
        if end == before:
            return False
        assert end < before, f"{opened.id}: truncated from {before} to {end}"
        log.info("%s: truncated from %d to %d, as its leader's log", opened.id, before, end)
        if end < opened.high_watermark:
            log.warning("%s: committed up to %d, truncated to %d", opened.id, opened.high_watermark, end)
            opened.high_watermark = end
        try:
            own.unsynced_paths += aborted.truncate_to(end)
        except OSError as error:
            raise opened.partition.storage_error(error) from error
        finally:
            own.folder_dirty = True
            opened.end_was_cut()
        return True

    def start_anew(self, offset: int) -> None:
        """Remove all of the log; it goes on at `offset`, filled by the leader."""
        opened = self._opened
        own = opened.log
        log.info("%s: starts anew at %d (held %d to %d)", opened.id, offset, own.log_start_offset, own.log_end_offset)
        own.truncate_fully_and_start_at(offset)
        assert own.log_start_offset == own.log_end_offset == offset
        own.damages.clear()
        opened.high_watermark = offset
        AbortedTransactions(own.folder, disk=own.disk).load(own.disk.scan(own.folder), -1)  # all of them are cut off
        try:
            opened.use_state(PartitionState.load(own))
        except OSError as error:
            raise opened.partition.storage_error(error) from error
        except (Damaged, ProtocolError) as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error
