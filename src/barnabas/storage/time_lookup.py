"""Which record of a log carries a time: the first one that is not older, or the newest of all (ListOffsets).

An entry of the time index is added together with one of the offset index, when the largest timestamp has grown. So
between two entries (t1, o1) and (t2, o2) of the time index, the first batch newer than t1 stands in the one interval of
the offset index that o2 lies in: a search reads that interval, not what lies between o1 and o2, which may be all of the
segment when many records share a time. Where an entry does not fit the log, the segment is searched from its start.

Opens and reads files, and decompresses a batch: for a thread, not for the event loop.
"""

from typing import TYPE_CHECKING

from barnabas.storage.reading import segments_from
from barnabas.storage.segment import Segment
from barnabas.storage.walk import scan
from barnabas.wire.batch import HEADER_BYTES, BatchHeader, read_header
from barnabas.wire.records import Record, iter_records

if TYPE_CHECKING:
    from barnabas.storage.log import Log

FoundTimestamp = tuple[int, int, int]  # timestamp, offset, leader epoch


def offset_for_timestamp(log: "Log", timestamp: int) -> FoundTimestamp | None:
    """The first record, by offset, at or after the start of the log whose timestamp is at least `timestamp`."""
    start = log.log_start_offset
    for segment in segments_from(log, start):
        if segment.size and segment.largest_timestamp() >= timestamp:
            hint = _time_hint(log, segment, timestamp)
            found = _search_records(log, segment, max(hint, start), timestamp)
            if found is None and hint > segment.base_offset:
                found = _search_records(log, segment, max(segment.base_offset, start), timestamp)
            if found is not None:
                return found
            if segment.base_offset >= start and segment is not log.active_segment:
                segment.rebuild_indexes(log.config.index_interval_bytes)  # its last entry names a time no record has
    return None


def max_timestamp_offset(log: "Log") -> FoundTimestamp | None:
    """The first record that carries the largest timestamp of the log."""
    best: Segment | None = None
    for segment in segments_from(log, log.log_start_offset):
        if segment.size and (best is None or segment.largest_timestamp() > best.largest_timestamp()):
            best = segment
    if best is None or best.largest_timestamp() < 0:
        return None
    largest, start = best.largest_timestamp(), max(best.base_offset, log.log_start_offset)
    if _confirmed(log, best, largest, best.max_timestamp_offset):
        found = _search_records(log, best, max(best.max_timestamp_offset, start), largest)
        if found is not None:
            return found
    return _search_records(log, best, start, largest)


def _time_hint(log: "Log", segment: Segment, timestamp: int) -> int:
    """An offset to search from: every batch that ends before it is older than `timestamp`."""
    number, entry = segment.time_index.search(timestamp)
    hint = segment.base_offset
    if entry is not None:
        hint += entry[1]
        if not _confirmed(log, segment, entry[0], hint):
            return segment.base_offset  # an entry that the log does not confirm is worth nothing
        if entry[0] == timestamp:
            return hint
    # What is newer begins in the interval of the offset index that the next entry lies in.
    if number + 1 < len(segment.time_index):
        newer, relative = segment.time_index.entry(number + 1)
    else:
        newer, relative = segment.largest_timestamp(), segment.max_timestamp_offset - segment.base_offset
    before = segment.offset_index.floor(relative - 1)
    if before is not None and _confirmed(log, segment, newer, segment.base_offset + relative):
        hint = max(hint, segment.base_offset + before[0] + 1)
    return hint


def _confirmed(log: "Log", segment: Segment, timestamp: int, last_offset: int) -> bool:
    """Does a batch end at this offset, and is that time its largest?"""
    step = segment.find(last_offset, log.config.index_interval_bytes)
    if step is None or step[3] != last_offset:
        return False
    return read_header(log.disk.pread(segment.opened().fd, HEADER_BYTES, step[0])).max_timestamp == timestamp


def _search_records(log: "Log", segment: Segment, from_offset: int, timestamp: int) -> FoundTimestamp | None:
    """The first record from `from_offset` on that is not older than `timestamp`; opens only a batch that has one."""
    step = segment.find(from_offset, log.config.index_interval_bytes)
    if step is None:
        return None
    fd = segment.opened()
    for _, header, batch in scan(
        log.disk, fd.fd, segment.path, step[0], segment.size, lowest_offset=segment.base_offset, check_crc=False
    ):
        if header.max_timestamp >= timestamp:
            record = _first_record(log, header, batch, timestamp)
            if record is not None:
                return record.timestamp, record.offset, header.leader_epoch
    return None


def _first_record(log: "Log", header: BatchHeader, batch: memoryview, timestamp: int) -> Record | None:
    for record in iter_records(batch):
        if record.timestamp >= timestamp and record.offset >= log.log_start_offset:
            return record
    return None


def timestamp_at(log: "Log", offset: int) -> FoundTimestamp | None:
    """The first record at or after `offset`, by the header of its batch alone: inside of a batch the timestamp lies
    between the batch's first and last one, as far along as the offset does. None where there is no such record."""
    piece = log.read(offset, 1, log.log_end_offset, min_one_batch=True, wait=True)
    data = piece.read(HEADER_BYTES)
    if len(data) < HEADER_BYTES:
        return None
    header = read_header(data)
    found = max(offset, header.base_offset)
    share = (found - header.base_offset) / max(header.last_offset - header.base_offset, 1)
    timestamp = header.base_timestamp + round((header.max_timestamp - header.base_timestamp) * share)
    return timestamp, found, header.leader_epoch
