"""Compaction, the exchange: cleaned segments take the place of the old ones, group by group, and a crash at any moment
leaves either the old or the new, never both and never neither.

The files go `.cleaned` -> `.swap` (the cleaning is now the truth: a crash from here on is finished by leftovers.py),
the old ones go `.deleted`, the new ones lose their suffix. The names are flushed before an old file is unlinked
(`purge`). Readers that hold a slice of an old segment keep its descriptor. Sources that are gone or changed since the
plan (retention, a truncation) void their group; the others stand.
"""

import contextlib
from typing import TYPE_CHECKING

from barnabas.storage import retention
from barnabas.storage.compaction.cleaner import CleanedSegment, CleaningResult
from barnabas.storage.segment import Segment

if TYPE_CHECKING:
    from barnabas.storage.log import Log


def swap(log: "Log", result: CleaningResult) -> int:
    """Put the result in place; gives how many groups were. In the thread of the loop."""
    swapped, void = 0, log.closed
    for cleaned in result.segments:
        if cleaned.sources[-1].base_offset < log.bases[0]:
            discard(log, cleaned)  # retention was faster: all of it is gone
            continue
        void = void or not _still_fits(log, cleaned)
        if void:
            discard(log, cleaned)
        else:
            _swap_group(log, cleaned)
            swapped += 1
    if not void:
        log.first_dirty_offset = result.end_offset
    return swapped


def discard(log: "Log", cleaned: CleanedSegment) -> None:
    _segment_of(log, cleaned).unlink()


def _still_fits(log: "Log", cleaned: CleanedSegment) -> bool:
    with contextlib.suppress(ValueError):
        first = log.bases.index(cleaned.base_offset)
        present = log.segments[first : first + len(cleaned.sources)]
        return (
            len(present) == len(cleaned.sources)
            and present[-1] is not log.active_segment
            and all(
                segment.base_offset == source.base_offset and segment.size == source.size
                for segment, source in zip(present, cleaned.sources, strict=True)
            )
        )
    return False


def _segment_of(log: "Log", cleaned: CleanedSegment) -> Segment:
    stem = f"{log.folder}/{cleaned.base_offset:020d}"
    sizes = {}
    for end in ("index", "timeindex"):
        with contextlib.suppress(FileNotFoundError):
            sizes[end] = log.disk.size(f"{stem}.{end}.cleaned")
    segment = Segment(
        log.disk,
        log.files,
        log.folder,
        cleaned.base_offset,
        size=cleaned.size,
        index_bytes=sizes.get("index", 0),
        time_index_bytes=sizes.get("timeindex", 0),
        on_disk=True,
        suffix=".cleaned",
    )
    segment.max_timestamp, segment.max_timestamp_offset = cleaned.max_timestamp, cleaned.max_timestamp_offset
    segment.trusted_from = 0  # every batch in it was checked when it was copied
    return segment


def _swap_group(log: "Log", cleaned: CleanedSegment) -> None:
    segment = _segment_of(log, cleaned)
    segment.rename(".swap")
    first = log.bases.index(cleaned.base_offset)
    old = log.segments[first : first + len(cleaned.sources)]
    for replaced in old:
        retention.doom(log, replaced)
    segment.rename("")
    log.replace_segments(first, len(old), segment)
    log.folder_dirty = True
