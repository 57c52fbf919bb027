"""Compaction, the decision: whether a log is worth cleaning now, how far, and which segments go together.

`plan` runs in the thread of the loop and looks at sizes and timestamps only. The plan it gives holds no file and no
reference to the log: `run` (cleaning.py) may happen in another thread or another process, reads the old segments and
writes new ones beside them under `.cleaned`. `swap` (swapping.py) puts them in place, back in the thread of the loop.

Cleaned is what lies below the first dirty offset (`log.first_dirty_offset`, from `cleaner-offset-checkpoint`). A
round covers whole sealed segments below the last stable offset that are older than `min.compaction.lag.ms`. It is due
when the dirty part is more than `min.cleanable.dirty.ratio` of all that can be cleaned, or when a dirty record waits
for longer than `max.compaction.lag.ms` (KIP-354).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from barnabas.storage.config import LogConfig
from barnabas.storage.disk import Disk
from barnabas.storage.segment import Segment
from barnabas.wire.batch import HEADER_BYTES, read_header

if TYPE_CHECKING:
    from barnabas.storage.log import Log

RELATIVE_OFFSET_MAX = 2**31 - 1


class Source(Struct, frozen=True):
    """A segment as it was when the plan was made: up to its size then it can only vanish, not change."""

    base_offset: int
    next_base_offset: int  # where the following segment starts
    size: int
    index_bytes: int
    modified_ms: int


class CleanedSegment(Struct, frozen=True):
    """What takes the place of a group of sources; its files end in `.cleaned`."""

    base_offset: int
    sources: tuple[Source, ...]
    size: int
    max_timestamp: int
    max_timestamp_offset: int


class CleaningPlan(Struct, frozen=True):
    directory: str
    config: LogConfig
    now_ms: int
    first_dirty_offset: int
    upper_offset: int  # the round ends here, a segment boundary
    sources: tuple[Source, ...]
    beyond: tuple[Source, ...]  # all that follows: a transaction of the round may have ended there
    last_of_producer: dict[int, tuple[int, int]]  # producer id: (offset of its last data or -1, its epoch)
    dirty_ratio: float = 0.0
    map_entries_max: int | None = None
    disk: Disk = field(default_factory=Disk)

    def run(self, pause: Callable[[int], None] | None = None) -> "CleaningResult":
        """Do it, in whatever thread or process this is called."""
        from barnabas.storage.compaction import cleaning

        return cleaning.run(self, pause)

    def groups(self, end_offset: int) -> list[tuple[Source, ...]]:
        """Neighbours that fit one segment of the configured size even if nothing can be removed from them."""
        groups: list[list[Source]] = []
        size = index_bytes = 0
        for source in self.sources:
            if source.base_offset >= end_offset:
                break
            fits = (
                groups
                and size + source.size <= self.config.segment_bytes
                and index_bytes + source.index_bytes <= self.config.segment_index_bytes
                and source.next_base_offset - 1 - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX
            )
            if fits:
                groups[-1].append(source)
                size += source.size
                index_bytes += source.index_bytes
            else:
                groups.append([source])
                size, index_bytes = source.size, source.index_bytes
        return [tuple(group) for group in groups]


class CleaningResult(Struct, frozen=True):
    plan: CleaningPlan
    end_offset: int  # the first dirty offset from now on
    segments: tuple[CleanedSegment, ...]
    bytes_before: int
    bytes_after: int
    records_before: int
    records_after: int


def plan(log: "Log", now_ms: int, *, last_stable_offset: int | None = None) -> CleaningPlan | None:
    """What to clean now, or None. Records at or above `last_stable_offset` are never touched (open transactions)."""
    due = _due(log, now_ms, last_stable_offset)
    if due is None:
        return None
    first_dirty, count, ratio = due
    sources = [_source(log, number) for number in range(count)]
    producers = log.snapshot_source() if log.snapshot_source is not None else ()
    return CleaningPlan(
        directory=log.folder,
        config=log.config,
        now_ms=now_ms,
        first_dirty_offset=first_dirty,
        upper_offset=sources[-1].next_base_offset,
        sources=tuple(sources),
        beyond=tuple(_source(log, number) for number in range(count, len(log.bases))),
        last_of_producer={entry.producer_id: (entry.last_offset, entry.producer_epoch) for entry in producers},
        dirty_ratio=ratio,
        disk=log.disk,
    )


def due_ratio(log: "Log", now_ms: int, *, last_stable_offset: int | None = None) -> float | None:
    """How much of what can be cleaned is dirty, None when it need not be cleaned now. Asks the disk for nothing where
    timestamps are known, so it can be asked of every log of a node."""
    due = _due(log, now_ms, last_stable_offset)
    return due[2] if due is not None else None


def _due(log: "Log", now_ms: int, last_stable_offset: int | None) -> tuple[int, int, float] | None:
    """(first dirty offset, how many segments can be cleaned, dirty ratio)."""
    if not log.config.compacts:
        return None
    first_dirty = log.first_dirty_offset
    if not log.log_start_offset <= first_dirty <= log.log_end_offset:
        first_dirty = log.log_start_offset  # a checkpoint of another life of this log
    bound = log.log_end_offset if last_stable_offset is None else last_stable_offset
    count = _cleanable_segments(log, now_ms, first_dirty, bound)
    sizes = [segment.size for segment in log.segments[:count]]
    dirty_bytes = sum(size for number, size in enumerate(sizes) if log.bases[number + 1] > first_dirty)
    if not dirty_bytes:
        return None
    ratio = dirty_bytes / sum(sizes)
    if ratio <= log.config.min_cleanable_dirty_ratio and not _waits_too_long(log, now_ms, first_dirty, count):
        return None
    return first_dirty, count, ratio


def _cleanable_segments(log: "Log", now_ms: int, first_dirty: int, bound: int) -> int:
    """How many segments from the start on may be cleaned: sealed, below `bound`, and old enough."""
    lag_ms = log.config.min_compaction_lag_ms
    count = 0
    for number, segment in enumerate(log.segments[:-1]):
        next_base = log.bases[number + 1]
        if next_base > bound:
            break
        if lag_ms > 0 and next_base > first_dirty and segment.largest_timestamp() > now_ms - lag_ms:
            break
        count = number + 1
    return count


def _waits_too_long(log: "Log", now_ms: int, first_dirty: int, count: int) -> bool:
    for number in range(count):
        if log.bases[number + 1] > first_dirty and log.segments[number].size:
            return now_ms - _first_timestamp(log, log.segments[number]) > log.config.max_compaction_lag_ms
    return False


def _first_timestamp(log: "Log", segment: Segment) -> int:
    if segment.first_timestamp < 0:
        file = segment.opened()
        header = read_header(log.disk.pread(file.fd, HEADER_BYTES, 0))
        segment.first_timestamp = header.max_timestamp
    return segment.first_timestamp


def _source(log: "Log", number: int) -> Source:
    segment = log.segments[number]
    return Source(
        base_offset=segment.base_offset,
        next_base_offset=log.bases[number + 1] if number + 1 < len(log.bases) else log.log_end_offset,
        size=segment.size,
        index_bytes=max(len(segment.offset_index) * 8, len(segment.time_index) * 12),
        modified_ms=log.disk.modified_ms(segment.path),
    )
