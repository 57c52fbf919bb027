"""Reading a log: slices of the older segments, batch headers in order, verification. By time: time_lookup.py.

The tail of the log has a shorter way (`Log.read`); everything here goes through the indexes. None of it looks past the
offset a caller may see, and none of it hands out bytes that fail their CRC.
"""

import logging
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.storage.damage import Damage, Damaged
from barnabas.storage.segment import Segment
from barnabas.storage.slice import Slice
from barnabas.storage.walk import scan
from barnabas.wire.batch import BatchHeader
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import iter_records

if TYPE_CHECKING:
    from barnabas.storage.log import Log

logger = logging.getLogger(__name__)


def read_indexed(
    log: "Log", offset: int, max_bytes: int, upper_offset: int, *, min_one_batch: bool, wait: bool
) -> Slice:
    """The slice that starts with the batch of `offset`, found through the indexes; offset < upper_offset."""
    disk = log.disk if wait else log.disk.no_wait()
    segments, bases = log.segments, log.bases
    interval = log.config.index_interval_bytes
    number = max(bisect_right(bases, offset) - 1, 0)
    while number < len(segments):
        segment = segments[number]
        step = segment.find(offset, interval, disk)
        if step is None:  # compaction may leave a gap at the end of a segment
            number += 1
            continue
        position, size = step[0], step[1]
        end = segment.size
        if number + 1 < len(segments) and upper_offset >= bases[number + 1]:
            pass
        elif upper_offset < log.log_end_offset:
            bound = segment.find(upper_offset, interval, disk)
            end = bound[0] if bound is not None else end
        return cut_slice(log, segment, position, position + size, end, max_bytes, min_one_batch=min_one_batch)
    return log.empty_slice


def cut_slice(
    log: "Log", segment: Segment, position: int, first_end: int, end: int, max_bytes: int, *, min_one_batch: bool
) -> Slice:
    """From `position` at most `max_bytes`, but the first batch whole (or nothing, when it may not be too large)."""
    if end <= position:
        return log.empty_slice
    length = end - position
    if length > max_bytes:
        length = max_bytes
        if first_end - position > length:
            if not min_one_batch:
                return log.empty_slice
            length = first_end - position
    trusted_end = segment.verified_end(position)
    verified = trusted_end > position
    if verified and trusted_end - position < length:
        length = trusted_end - position
    assert length > 0, f"{segment.path}: {length} bytes from {position} on"
    return Slice(log.disk, segment, segment.opened(), position, length, verified)


def offset_after(log: "Log", piece: Slice, bound: int) -> int:
    """An offset that no record of the slice reaches, found by the index or by where the next segment begins: near its
    end, and `bound` at the most. Any thread."""
    segment = piece.segment
    if segment is None:
        return bound
    index = segment.offset_index
    number, _ = index.search(piece.position + piece.length, field=1)
    if number + 1 < len(index):
        return min(bound, index.entry(number + 1)[0] + segment.base_offset + 1)
    next_segment = bisect_right(log.bases, segment.base_offset)
    return min([bound, *log.bases[next_segment : next_segment + 1]])


def verify_slice(log: "Log", piece: Slice) -> Slice:
    """Read the whole batches of a slice once and check them. Any thread; gives the slice cut to what is good.

    Raises `Damaged` when its first batch is bad. What was found good is remembered and never read again.
    """
    segment = piece.segment
    if piece.verified or segment is None or piece.file is None:
        return piece
    start, end, good_end = piece.position, piece.position + piece.length, piece.position
    path = segment.path
    following = bisect_right(log.bases, segment.base_offset)
    bound = log.bases[following] if following < len(log.bases) else log.log_end_offset
    try:
        for position, header, _ in scan(
            log.disk, piece.fd, path, start, end, lowest_offset=segment.base_offset, check_crc=True
        ):
            if header.last_offset >= bound:  # offsets are outside the CRC
                raise Damaged(Damage(path, position, f"offset {header.last_offset} where the segment ends at {bound}"))
            good_end = position + header.size
    except Damaged as damaged:
        # A batch the slice itself cuts is no damage; one that fails on its own is.
        damage = damaged.damage
        if not _is_cut(log, piece, damage.position, end):
            log.note_damage(damage)
            if good_end == start:
                raise
    if good_end > start:
        segment.mark_verified(start, good_end)
    return Slice(piece.disk, segment, piece.file, start, good_end - start, True)


def _is_cut(log: "Log", piece: Slice, position: int, end: int) -> bool:
    """Whether the batch at `position` is whole in the file and only reaches past `end`."""
    segment = piece.segment
    if segment is None or end >= segment.size:
        return False
    try:
        _, header, _ = next(
            scan(log.disk, piece.fd, segment.path, position, segment.size, lowest_offset=segment.base_offset)
        )
    except (Damaged, StopIteration):
        return False
    return position + header.size > end


def check_slice(log: "Log", piece: Slice) -> Damage | None:
    """The first damage among the whole batches of a slice, None when they are good."""
    if piece.segment is None:
        return None
    end = piece.position + piece.length
    try:
        for _ in scan(
            log.disk, piece.fd, piece.segment.path, piece.position, end, lowest_offset=piece.segment.base_offset
        ):
            pass
    except Damaged as damaged:
        return None if _is_cut(log, piece, damaged.damage.position, end) else damaged.damage
    return None


def verify_log(log: "Log", *, deep: bool = False) -> list[Damage]:
    """Read every byte of the log and list what is bad. `deep` also opens every batch and counts its records."""
    found = []
    for segment in list(log.segments):
        if not segment.size:
            continue
        path, size, position = segment.path, segment.size, 0
        fd = log.disk.open(path)
        lowest = segment.base_offset
        while position < size:
            try:
                for at, header, batch in scan(log.disk, fd.fd, path, position, size, lowest_offset=lowest):
                    if deep:
                        problem = _content_problem(header, batch)
                        if problem:
                            found.append(Damage(path, at, problem))
                    lowest = header.next_offset
                break
            except Damaged as damaged:
                found.append(damaged.damage)
                skip = _next_batch_after(log, segment, fd.fd, damaged.damage.position, lowest)
                if skip is None:
                    break
                position = skip
    for damage in found:
        log.note_damage(damage)
    return found


def _next_batch_after(log: "Log", segment: Segment, fd: int, position: int, lowest: int) -> int | None:
    """Where to go on after damage: behind the batch if its header makes sense, else at an index entry that fits."""
    candidates = []
    try:
        _, header, _ = next(
            scan(log.disk, fd, segment.path, position, segment.size, lowest_offset=lowest, check_crc=False)
        )
        candidates.append(position + header.size)
    except (Damaged, StopIteration):
        pass
    candidates += [entry[1] for entry in segment.offset_index.all() if entry[1] > position]
    for candidate in candidates:
        if candidate == segment.size:
            return None
        try:
            next(scan(log.disk, fd, segment.path, candidate, segment.size, lowest_offset=lowest))
        except (Damaged, StopIteration):
            continue
        return candidate
    return None


def _content_problem(header: BatchHeader, batch: memoryview) -> str | None:
    try:
        for _ in iter_records(batch):
            pass
    except ProtocolError as error:
        return str(error)
    return None


def batches_from(log: "Log", offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Every batch that ends at or after `offset`, to the end of the log as it is now, as (header, its bytes).

    The bytes are good until the next step. A flipped bit raises Damaged: whoever rebuilds something from here (the
    producers and their transactions, a coordinator) must not believe it.
    """
    end_offset = log.log_end_offset
    for segment in segments_from(log, offset) if offset < end_offset else ():
        position = 0
        if offset > segment.base_offset:
            step = segment.find(offset, log.config.index_interval_bytes)
            if step is None:
                continue
            position = step[0]
        fd = segment.opened()
        for _, header, batch in scan(
            log.disk, fd.fd, segment.path, position, segment.size, lowest_offset=segment.base_offset, check_crc=True
        ):
            if header.base_offset >= end_offset:
                return
            yield header, batch


def bytes_from(log: "Log", offset: int) -> int:
    """At most so many bytes are read by `batches_from`; the segment that has the offset counts whole."""
    return sum(segment.size for segment in segments_from(log, offset)) if offset < log.log_end_offset else 0


def segments_from(log: "Log", offset: int) -> list[Segment]:
    """The segments that can hold `offset` or more."""
    return log.segments[max(bisect_right(log.bases, offset) - 1, 0) :]
