"""What leaves a log, at its old end and at its new one.

Retention removes whole segments from the old end: those whose newest record is too old, or while the log is too
large; never one that holds an offset at or above the high watermark; never the one being written to, which is sealed
first when all of it has expired. An open transaction does not hold it up, as in Kafka: one that is never ended would
fill the disk. DeleteRecords moves the start of the log, and segments wholly below it go. A removed
segment is renamed `.deleted` at once and unlinked after `file_delete_delay_ms` (counted from the first `purge` that
sees it), so that whoever opens it by name has time to.

Truncation cuts the new end, as a follower must when its leader never had what it has.
"""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.storage.damage import Damaged
from barnabas.storage.segment import Segment
from barnabas.storage.walk import scan
from barnabas.wire.batch import BatchHeader

if TYPE_CHECKING:
    from barnabas.storage.log import Log

logger = logging.getLogger(__name__)


class Doomed:
    """A removed segment and the time to unlink it; -1: not set yet."""

    __slots__ = ("due_ms", "segment")

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.due_ms = -1


def may_have_expired(log: "Log", now_ms: int) -> bool:
    """Whether the oldest segment seems too old; `find_expired` tells whether it is."""
    deletes = log.config.deletes and log.config.retention_ms >= 0
    return deletes and log.segments[0].size > 0 and _seems_expired(log, log.segments[0], now_ms)


def find_expired(log: "Log", now_ms: int, high_watermark: int, most: int = sys.maxsize) -> list[Segment]:
    """The oldest segments of which every record is too old, as far as they are committed. It reads the log, and all of
    a segment whose index is spoilt: for a thread, while appends go on."""
    if not may_have_expired(log, now_ms):
        return []
    found: list[Segment] = []
    segments = list(log.segments)
    upper_offsets = [segment.base_offset for segment in segments[1:]] + [log.log_end_offset]
    for segment, upper_offset in zip(segments, upper_offsets, strict=True):
        if len(found) == most or not segment.size or high_watermark < upper_offset:
            break
        if not _expired(log, segment, now_ms):
            break
        found.append(segment)
    return found


def apply_retention(
    log: "Log", now_ms: int, high_watermark: int, most: int = sys.maxsize, expired: Sequence[Segment] | None = None
) -> int:
    """Remove what has expired, at most so many segments; gives their number. `expired`: what `find_expired` gave; it is
    asked here when that is None."""
    config = log.config
    removed = 0
    if config.deletes and config.retention_ms >= 0:
        if expired is None:
            expired = find_expired(log, now_ms, high_watermark, most)
        still = (segment for segment in expired if _seems_expired(log, segment, now_ms))
        removed += _remove_while(log, high_watermark, lambda segment: segment is next(still, None), most)
    if config.deletes and config.retention_bytes >= 0:
        limit = config.retention_bytes
        removed += _remove_while(
            log, high_watermark, lambda segment: log.size_bytes - segment.size >= limit, most - removed
        )
    return removed + _remove_below_start(log, most - removed)


def advance_log_start(log: "Log", offset: int) -> int:
    """DeleteRecords: nothing below `offset` is served any more; gives the number of segments removed."""
    if offset > log.log_end_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset} is past the end {log.log_end_offset}")
    if offset > log.log_start_offset:
        log.log_start_offset = offset
        log.epochs.truncate_from_start(offset)
    return _remove_below_start(log)


def purge_is_due(log: "Log", now_ms: int) -> bool:
    """Whether `purge` has something to do; the clock of a segment that was removed since the last call begins now."""
    due = False
    for doomed in list(log.doomed):
        if doomed.due_ms < 0:
            doomed.due_ms = now_ms + log.config.file_delete_delay_ms
        due = due or doomed.due_ms <= now_ms
    return due


def purge(log: "Log", now_ms: int) -> int:
    """Unlink removed segments whose delay is over; gives how many. Better in a thread: to unlink a gigabyte takes time.

    The folder is flushed first: whatever took their place must be known to the disk before they are gone.
    """
    if not purge_is_due(log, now_ms):
        return 0
    due = [doomed for doomed in list(log.doomed) if 0 <= doomed.due_ms <= now_ms]
    log.disk.sync_directory(log.folder)
    for doomed in due:
        doomed.segment.unlink()
        log.doomed.remove(doomed)
    return len(due)


def truncate_to(log: "Log", offset: int) -> None:
    """Remove every batch that reaches `offset` or more."""
    if offset >= log.log_end_offset:
        log.epochs.truncate_from_end(log.log_end_offset)  # an epoch may have begun there, without a batch
        return
    if offset <= log.log_start_offset:
        truncate_fully_and_start_at(log, offset)
        return
    interval = log.config.index_interval_bytes
    while log.segments[-1].base_offset >= offset and len(log.segments) > 1:
        doom(log, log.segments.pop())
        log.bases.pop()
    segment = log.segments[-1]
    step = segment.find(offset, interval)
    if step is not None:  # a batch that only reaches over `offset` goes as a whole
        segment.cut(step[0])
        segment.truncate_indexes(min(step[2], offset) - 1)
    # The end is that of the last batch left, also when `offset` lies in a gap behind it: an opening finds the same.
    end_offset = max(segment.load_end(interval)[0], log.log_start_offset)
    assert end_offset <= offset, f"{log.folder}: cut at {offset}, but it ends at {end_offset}"
    _new_end(log, end_offset)


def truncate_fully_and_start_at(log: "Log", offset: int, log_start_offset: int = -1) -> None:
    """Empty the log; it goes on at `offset`, as a follower's does when its leader's log starts past its own end.

    `log_start_offset` is later than `offset` when the leader's log starts inside of a batch (DeleteRecords).
    """
    for segment in log.segments:
        doom(log, segment)
    log.epochs.clear()
    log.snapshots.drop_above(-1)
    log.segments = []
    log.bases = []
    log.log_start_offset = max(offset, log_start_offset)
    log.start_segment(offset)
    _new_end(log, offset)


def _new_end(log: "Log", end_offset: int) -> None:
    assert log.segments[-1].base_offset <= end_offset, f"{log.folder}: an end before its last segment"
    log.log_end_offset = end_offset
    log.cut_to = min(log.cut_to, end_offset)
    log.recovery_point = min(log.recovery_point, end_offset)
    log.first_dirty_offset = min(log.first_dirty_offset, end_offset)
    log.epochs.truncate_from_end(end_offset)
    log.snapshots.drop_above(end_offset)
    log.become_active(log.segments[-1])
    log.dirty = [segment for segment in log.dirty if segment in log.segments[:-1]]


def _remove_while(log: "Log", high_watermark: int, gone: Callable[[Segment], bool], most: int) -> int:
    """Remove segments from the old end as long as `gone` says so and all of them is committed."""
    removed = 0
    while removed < most:
        segment = log.segments[0]
        last = len(log.segments) == 1
        upper_offset = log.log_end_offset if last else log.bases[1]
        if not segment.size or high_watermark < upper_offset or not gone(segment):
            return removed
        if last:
            log.roll()
        _remove_first(log)
        removed += 1
    return removed


def _remove_below_start(log: "Log", most: int = sys.maxsize) -> int:
    removed = 0
    while removed < most and len(log.segments) > 1 and log.bases[1] <= log.log_start_offset:
        _remove_first(log)
        removed += 1
    return removed


def _remove_first(log: "Log") -> None:
    assert len(log.segments) > 1, "the segment that is written to stays"
    segment = log.segments.pop(0)
    log.bases.pop(0)
    log.forget_sealed(segment)
    doom(log, segment)
    if log.bases[0] > log.log_start_offset:
        log.log_start_offset = log.bases[0]
        log.epochs.truncate_from_start(log.log_start_offset)


def doom(log: "Log", segment: Segment) -> None:
    """Out of the log now, off the disk later."""
    segment.release()
    if segment.on_disk:
        segment.rename(".deleted")
        log.doomed.append(Doomed(segment))


def _seems_expired(log: "Log", segment: Segment, now_ms: int) -> bool:
    timestamp = segment.largest_timestamp()
    if timestamp < 0:  # records without a time: the file's own is all there is
        timestamp = log.disk.modified_ms(segment.path)
    return now_ms - timestamp > log.config.retention_ms


def _expired(log: "Log", segment: Segment, now_ms: int) -> bool:
    if not _seems_expired(log, segment, now_ms):
        return False
    if segment is log.active_segment:
        return True  # no index was asked
    try:
        if _index_tells_the_truth(log, segment):
            return True
        # A spoilt index must not delete records: build it anew and ask again.
        logger.warning("%s does not fit its log: built anew before retention is judged", segment.time_index.path)
        segment.rebuild_indexes(log.config.index_interval_bytes)
    except Damaged as damaged:
        log.note_damage(damaged.damage)
        return now_ms - log.disk.modified_ms(segment.path) > log.config.retention_ms
    return now_ms - segment.largest_timestamp() > log.config.retention_ms


def _index_tells_the_truth(log: "Log", segment: Segment) -> bool:
    """Whether the batch the time index names carries that time, and the last batches of the segment are not newer."""
    step = segment.find(segment.max_timestamp_offset, log.config.index_interval_bytes)
    named = next(_headers_at(log, segment, step[0]), None) if step is not None else None
    indexed = segment.offset_index.last_batch()
    last_ones = _headers_at(log, segment, indexed[1] if indexed else 0)
    newest = max((header.max_timestamp for header in last_ones), default=-1)
    return named is not None and named.max_timestamp == segment.max_timestamp and newest <= segment.max_timestamp


def _headers_at(log: "Log", segment: Segment, position: int) -> Iterator[BatchHeader]:
    fd, lowest = segment.opened().fd, segment.base_offset
    for _, header, _ in scan(log.disk, fd, segment.path, position, segment.size, lowest_offset=lowest, check_crc=False):
        yield header
