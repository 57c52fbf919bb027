"""Compaction, the work: read the dirty part for the newest offset of each key, then copy what is still worth keeping.

A record stays when it has a key and no newer record of the round has the same one. A tombstone (no value) stays, as the
newest of its key, until its delete horizon has passed: the first round that keeps it stamps its batch with now plus
`delete.retention.ms` (KIP-534: attribute bit 6, and the base timestamp is the horizon), so a reader that is slower than
that is the only one that can miss it. Offsets never change: a batch keeps its base and last offset, gaps stay gaps.

Batches, not only records, have a meaning, so some stay although nothing is left in them:
- the last batch of a producer that is still remembered, for it carries the newest sequence (an empty batch is enough);
- the last batch of a segment, so that each segment ends where the next begins and recovery can tell a hole from a gap;
- a commit marker as long as data of its transaction is left; then it gets a delete horizon like a tombstone;
- an abort marker, for ever: a Fetch names the aborted transaction (aborted.py), and a client takes all that it reads of
  that producer for aborted until it meets the marker, the data of later transactions too.
Data of aborted transactions goes, and never stands for its key.

Runs beside the loop, in a thread or a process: touches nothing but files, calls `pause` with the bytes it has just
handled so that the owner can slow it down, and stops with `Damaged` at a batch that fails its CRC.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from barnabas.model.limits import CLEANER_MAP_ENTRIES
from barnabas.storage.compaction.cleaner import CleanedSegment, CleaningPlan, CleaningResult, Source
from barnabas.storage.compaction.offset_map import OffsetMap
from barnabas.storage.files import FilePool
from barnabas.storage.segment import Segment
from barnabas.storage.walk import scan
from barnabas.wire.batch import BatchHeader
from barnabas.wire.records import Record, build_batch, iter_records

Pause = Callable[[int], None]
WRITE_BYTES = 1024 * 1024
ABORT_MARKER = b"\x00\x00\x00\x00"  # key of a control record: int16 version, int16 type; type 0 aborts


@dataclass(slots=True)
class _Round:
    plan: CleaningPlan
    map: OffsetMap
    pause: Pause
    aborted: dict[int, list[tuple[int, int]]] = field(default_factory=dict)  # producer id: first and last offsets
    open_data: set[int] = field(default_factory=set)  # producers whose transaction has data left
    records_before: int = 0
    records_after: int = 0


def run(plan: CleaningPlan, pause: Pause | None = None) -> CleaningResult:
    """Write the cleaned segments of one round; the log itself is not touched."""
    entries_max = plan.map_entries_max or CLEANER_MAP_ENTRIES
    work = _Round(plan, OffsetMap(entries_max), pause or (lambda _: None))
    _build_map(work)
    cleaned = [_clean_group(work, group) for group in plan.groups(work.map.end_offset)]
    return CleaningResult(
        plan=plan,
        end_offset=work.map.end_offset,
        segments=tuple(cleaned),
        bytes_before=sum(source.size for segment in cleaned for source in segment.sources),
        bytes_after=sum(segment.size for segment in cleaned),
        records_before=work.records_before,
        records_after=work.records_after,
    )


def _batches(work: _Round, source: Source, *, check_crc: bool = True) -> Iterator[tuple[BatchHeader, memoryview]]:
    plan = work.plan
    path = f"{plan.directory}/{source.base_offset:020d}.log"
    file = plan.disk.open(path)
    for _, header, batch in scan(
        plan.disk, file.fd, path, 0, source.size, lowest_offset=source.base_offset, check_crc=check_crc
    ):
        yield header, batch
        work.pause(header.size)


# --- the newest offset of each key ----------------------------------------------------------------------------------


def _build_map(work: _Round) -> None:
    plan, offsets = work.plan, work.map
    offsets.end_offset = plan.first_dirty_offset
    _find_aborted(work)
    for source in plan.sources:
        if source.next_base_offset <= plan.first_dirty_offset:
            continue
        for header, batch in _batches(work, source):
            if header.last_offset < plan.first_dirty_offset:
                continue
            if not offsets.has_room(header.record_count):
                return
            if not header.is_control and not _is_aborted(work, header):
                for record in iter_records(batch):
                    if record.key is not None and record.offset >= plan.first_dirty_offset:
                        offsets.put(record.key, record.offset)
            offsets.end_offset = header.next_offset
        offsets.end_offset = source.next_base_offset


def _find_aborted(work: _Round) -> None:
    """Which stretches of which producers were aborted. All transactions of the round have ended, for it lies below the
    last stable offset; but the marker of one may stand behind the round (also behind the last stable offset, when
    another transaction has begun between), and then it is looked for there."""
    plan = work.plan
    first_offset: dict[int, int] = {}
    for source in plan.sources + plan.beyond:
        if source.next_base_offset <= plan.first_dirty_offset:
            continue
        in_round = source.base_offset < plan.upper_offset
        if not in_round and not first_offset:
            return
        for header, batch in _batches(work, source, check_crc=False):  # the next look at it checks
            if not header.is_transactional:
                continue
            if not header.is_control:
                if in_round:
                    first_offset.setdefault(header.producer_id, header.base_offset)
            elif header.producer_id in first_offset:
                first = first_offset.pop(header.producer_id)
                if _is_abort(list(iter_records(batch))):
                    work.aborted.setdefault(header.producer_id, []).append((first, header.base_offset))


def _is_aborted(work: _Round, header: BatchHeader) -> bool:
    if not header.is_transactional or header.is_control:
        return False
    return any(first <= header.base_offset < end for first, end in work.aborted.get(header.producer_id, ()))


# --- what stays -----------------------------------------------------------------------------------------------------


def _clean_group(work: _Round, group: tuple[Source, ...]) -> CleanedSegment:
    plan = work.plan
    disk = plan.disk
    segment = Segment(disk, FilePool(), plan.directory, group[0].base_offset, suffix=".cleaned")
    segment.make_writable()
    file = segment.opened()
    disk.truncate(file.fd, 0)
    pending, written = bytearray(), 0
    for source in group:
        for header, batch in _batches(work, source):
            kept = _kept(work, header, batch, group[-1].next_base_offset)
            if kept is None:
                continue
            position = written + len(pending)
            pending += kept[1]
            segment.note_batch(position, len(kept[1]), header.last_offset, kept[0], plan.config.index_interval_bytes)
            if len(pending) >= WRITE_BYTES:
                disk.write_all(file.fd, pending, written)
                written += len(pending)
                pending = bytearray()
    disk.write_all(file.fd, pending, written)
    segment.write_indexes(sealed=True)
    for path in (segment.path, segment.offset_index.path, segment.time_index.path):
        disk.sync_path(path)
    disk.set_modified_ms(segment.path, group[-1].modified_ms)
    segment.release()
    return CleanedSegment(
        base_offset=segment.base_offset,
        sources=group,
        size=segment.size,
        max_timestamp=segment.max_timestamp,
        max_timestamp_offset=segment.max_timestamp_offset,
    )


def _kept(
    work: _Round, header: BatchHeader, batch: memoryview, segment_end: int
) -> tuple[int, bytes | bytearray | memoryview] | None:
    """(largest timestamp, bytes) of what stays of a batch, None when nothing does."""
    plan = work.plan
    work.records_before += header.record_count
    horizon = header.delete_horizon_ms
    expired = horizon is not None and horizon <= plan.now_ms
    wants_horizon = False
    if header.is_control:
        records = list(iter_records(batch))
        wants_horizon = header.producer_id not in work.open_data and not _is_abort(records)
        work.open_data.discard(header.producer_id)
        if expired and wants_horizon:
            records = []
    elif header.base_offset >= work.map.end_offset:
        records = list(iter_records(batch))  # not looked at yet, so nothing is known of it
    elif _is_aborted(work, header):
        records = []
    else:
        records = [record for record in iter_records(batch) if _stays(work, record, expired)]
        wants_horizon = any(record.value is None for record in records)
    if records and header.is_transactional and not header.is_control:
        work.open_data.add(header.producer_id)
    work.records_after += len(records)
    must_stay = header.next_offset == segment_end or _is_last_of_producer(work, header)
    stamps = wants_horizon and horizon is None and bool(records)
    if len(records) == header.record_count and (records or must_stay) and not stamps:
        return header.max_timestamp, batch
    if not records and not must_stay:
        return None
    if stamps:
        horizon = plan.now_ms + plan.config.delete_retention_ms
    rebuilt = _rebuild(header, records, horizon)
    return _max_timestamp(header, records), rebuilt


def _is_abort(marker: list[Record]) -> bool:
    """Of a control batch; one that compaction has emptied has no record."""
    return bool(marker) and marker[0].key == ABORT_MARKER


def _stays(work: _Round, record: Record, expired: bool) -> bool:
    if record.offset >= work.map.end_offset:
        return True
    if record.key is None:
        return False
    if record.offset < work.map.newest(record.key):
        return False
    return record.value is not None or not expired


def _is_last_of_producer(work: _Round, header: BatchHeader) -> bool:
    """Whether the batch carries the newest sequence, or the newest epoch, of a producer that is still remembered."""
    last = work.plan.last_of_producer.get(header.producer_id) if header.producer_id >= 0 else None
    if last is None:
        return False
    last_data_offset, epoch = last
    if last_data_offset >= 0:
        return header.last_offset == last_data_offset
    return header.is_control and header.producer_epoch == epoch


def _max_timestamp(header: BatchHeader, records: list[Record]) -> int:
    if header.log_append_time or not records:
        return header.max_timestamp
    return max(record.timestamp for record in records)


def _rebuild(header: BatchHeader, records: list[Record], horizon: int | None) -> bytearray:
    """The batch with fewer records (or a horizon): same offsets, same producer, same codec."""
    return build_batch(
        records,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        codec=header.codec,
        leader_epoch=header.leader_epoch,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        control=header.is_control,
        log_append_time_ms=header.max_timestamp if header.log_append_time and records else None,
        delete_horizon_ms=horizon if records else None,
        max_timestamp=_max_timestamp(header, records),
    )
