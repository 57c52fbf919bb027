"""How a follower's log is kept in step with its leader's: batches as they come, the end cut where the two part ways.

Bytes are the leader's own: offsets and epochs stand in them already, and they are appended unchanged once their CRC was
found right (S7: what a disk or a wire spoilt on the way must not get into a second log). The producers' sequences, the
open transactions and the index of the aborted ones follow each batch, so this replica can lead at any moment.

Where the logs part is told by leader epochs (KIP-101, KIP-279, on Fetch since KIP-595): the leader answers a fetch
whose last epoch it does not have with the largest epoch it has below, and where that one ended.
"""

import logging

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.state import PartitionState
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.aborted import AbortedTransactions
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import StorageFatal
from barnabas.wire.batch import MAGIC, BatchHeader, crc_matches, iter_batches
from barnabas.wire.errors import ProtocolError

log = logging.getLogger(__name__)


def append_fetched(partition: HostedPartition, records: memoryview) -> None:
    """Append what the leader sent; a last batch that is cut is left for the next fetch. Raises KafkaError when it
    cannot be: CORRUPT_MESSAGE for bytes that are not the leader's, KAFKA_STORAGE_ERROR for a disk that fails."""
    try:
        for position, header in iter_batches(records):
            if header.magic != MAGIC or not crc_matches(records, position, header.size):
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{partition.id}: a fetched batch fails its CRC")
            _append(partition, header, records[position : position + header.size])
    except ProtocolError as error:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{partition.id}: {error}") from error


def _append(partition: HostedPartition, header: BatchHeader, batch: memoryview) -> None:
    own = partition.log
    if header.base_offset < own.log_end_offset:
        if own.log_start_offset != own.log_end_offset or header.last_offset < own.log_end_offset:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE,
                f"{partition.id}: a batch at {header.base_offset} was fetched, the log ends at {own.log_end_offset}",
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
    except OSError as error:
        raise partition.storage_error(error) from error
    except StorageFatal as fatal:
        partition.storage_failed(fatal)
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(fatal)) from fatal
    try:
        partition.state.replay(own, header, batch)
    except (OSError, ProtocolError) as error:
        own.truncate_to(header.base_offset)  # what is not in the index of aborted transactions must not be in the log
        if isinstance(error, OSError):
            raise partition.storage_error(error) from error
        raise


def cut_point(partition: HostedPartition, epoch: int, end_offset: int) -> int:
    """Where our log has to end, given the leader's answer: its largest epoch not above ours, and that epoch's end."""
    own = partition.log
    known, known_end = own.epochs.end_offset_for(epoch, own.log_end_offset)
    if known < 0:
        return min(end_offset, own.log_end_offset)
    if known == epoch:
        return min(end_offset, known_end, own.log_end_offset)
    return min(known_end, own.log_end_offset)  # we never had that epoch: everything above what we had before it goes


def truncate(partition: HostedPartition, offset: int) -> bool:
    """Cut the end of the log; gives whether anything was cut. Its producers are read from the rest after that
    (`partition.rebuild`). Raises KafkaError when the index of aborted transactions cannot be cut."""
    own = partition.log
    before = own.log_end_offset
    aborted = partition.aborted
    own.truncate_to(offset)
    if own.log_end_offset == before:
        return False
    assert own.log_end_offset < before, f"{partition.id}: cut from {before} to {own.log_end_offset}"
    log.info("%s: cut from %d to %d, as its leader's log", partition.id, before, own.log_end_offset)
    if own.log_end_offset < partition.high_watermark:
        log.warning("%s: committed up to %d, cut to %d", partition.id, partition.high_watermark, own.log_end_offset)
        partition.high_watermark = own.log_end_offset
    try:
        own.unsynced_paths += aborted.truncate_to(own.log_end_offset)
    except OSError as error:
        raise partition.storage_error(error) from error
    finally:
        own.folder_dirty = True
        partition.end_was_cut()
    return True


def reset(partition: HostedPartition, offset: int) -> None:
    """Throw away all of the log; it goes on at `offset`, filled by the leader."""
    own = partition.log
    log.info("%s: begins anew at %d (it held %d to %d)", partition.id, offset, own.log_start_offset, own.log_end_offset)
    own.truncate_fully_and_start_at(offset)
    assert own.log_start_offset == own.log_end_offset == offset
    own.damages.clear()
    partition.high_watermark = offset
    AbortedTransactions(own.folder, disk=own.disk).load(own.disk.scan(own.folder), -1)  # all of them are cut off
    _rebuild(partition)


def _rebuild(partition: HostedPartition) -> None:
    try:
        partition.use_state(partition.log, PartitionState.load(partition.log))
    except OSError as error:
        raise partition.storage_error(error) from error
    except (Damaged, ProtocolError) as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error


def advance_log_start(partition: HostedPartition, offset: int) -> bool:
    """The leader's log starts later now (DeleteRecords, retention); gives whether ours moved."""
    own = partition.log
    offset = min(offset, partition.high_watermark)
    if offset <= own.log_start_offset:
        return False
    own.advance_log_start(offset)
    return True
