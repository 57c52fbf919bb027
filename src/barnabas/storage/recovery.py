"""Opening a folder: which segments are there, where the log ends, and what a crash spoilt.

After a clean stop only the batches behind the last index entry are looked at. After a crash everything from the
recovery point on is read: headers must make sense, CRCs must match, offsets must rise; at the first batch that fails
the log is cut and later segments are put aside. What lies before the recovery point was flushed and is not read, so
the time to open does not grow with the log. Indexes are checked against the log and built again where they do not
fit.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.storage.config import LogConfig
from barnabas.storage.damage import Damage, Damaged
from barnabas.storage.disk import Disk
from barnabas.storage.epochs import LeaderEpochs
from barnabas.storage.files import FilePool
from barnabas.storage.indexes.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from barnabas.storage.indexes.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from barnabas.storage.segment import Segment
from barnabas.storage.walk import scan
from barnabas.wire.batch import BatchHeader

WIDE_GAP = 2**30  # beyond it a new segment starts for want of room in the index

OnBatch = Callable[[BatchHeader], None]


@dataclass(slots=True)
class RecoveryReport:
    """What opening the folder did; empty lists after a clean stop."""

    leftovers: list[str] = field(default_factory=list)
    scanned_bytes: int = 0
    cut: Damage | None = None  # where the log was cut, and why
    cut_bytes: int = 0
    removed_segments: list[str] = field(default_factory=list)
    rebuilt_indexes: list[str] = field(default_factory=list)
    transaction_indexes: dict[str, int] = field(default_factory=dict)  # names and sizes of the `.txnindex` files

    @property
    def quiet(self) -> bool:
        return not (self.leftovers or self.cut or self.removed_segments or self.rebuilt_indexes)

    def __str__(self) -> str:
        """One line for a person."""
        told = []
        if self.cut is not None:
            told.append(f"{self.cut_bytes:,} bytes cut ({self.cut})")
        for what, found in (
            ("segments removed", self.removed_segments),
            ("indexes built anew", self.rebuilt_indexes),
            ("files removed that were left over", self.leftovers),
        ):
            if found:
                more = ", ..." if len(found) > 3 else ""
                told.append(f"{what}: {', '.join(found[:3])}{more}")
        return "; ".join(told) or "nothing"


def list_segments(disk: Disk, files: FilePool, directory: str, names: dict[str, int]) -> list[Segment]:
    """The segments of a settled folder, in order, nothing of them read."""
    segments = []
    for name in sorted(names):
        if len(name) == 24 and name.endswith(".log") and name[:20].isdigit():
            segment = Segment(
                disk,
                files,
                directory,
                int(name[:20]),
                size=names[name],
                index_bytes=names.get(f"{name[:20]}.index", 0),
                time_index_bytes=names.get(f"{name[:20]}.timeindex", 0),
                on_disk=True,
            )
            segments.append(segment)
    return segments


def check_indexes(
    segment: Segment, names: dict[str, int], config: LogConfig, report: RecoveryReport, *, active: bool = False
) -> None:
    """Whether both index files can belong to this log, judged by their ends; if not, they are built anew.

    The active segment may have none or short ones: whoever loads its end reads the rest of the log anyway.
    """
    stem = f"{segment.base_offset:020d}"
    index_bytes, time_bytes = names.get(f"{stem}.index"), names.get(f"{stem}.timeindex")
    problem: str | None
    if (index_bytes is None or time_bytes is None) and not active:
        problem = "missing"
    elif (index_bytes or 0) % OFFSET_ENTRY_BYTES or (time_bytes or 0) % TIME_ENTRY_BYTES:
        problem = "not a whole number of entries"
    else:
        segment.offset_index.trim_padding()
        segment.time_index.trim_padding()
        problem = segment.offset_index.problem(segment.size) or segment.time_index.problem()
        if (
            problem is None
            and not len(segment.time_index)
            and segment.size
            and (len(segment.offset_index) or not active)
        ):
            problem = "a time index without an entry"
    if problem is not None:
        report.rebuilt_indexes.append(f"{stem}: {problem}")
        if active:
            segment.forget_indexes()
        else:
            try:
                segment.rebuild_indexes(config.index_interval_bytes)
            except Damaged as damaged:  # whoever reads there is told; the rest of the log, and of the node, is well
                report.rebuilt_indexes.append(f"{stem}: only up to the damage: {damaged}")


class Recovery:
    """One opening of a log that was not stopped cleanly."""

    def __init__(
        self, disk: Disk, config: LogConfig, epochs: LeaderEpochs, report: RecoveryReport, on_batch: OnBatch | None
    ) -> None:
        self._disk = disk
        self._config = config
        self._epochs = epochs
        self._report = report
        self._on_batch = on_batch
        self.dropped: list[Segment] = []  # put aside under `.deleted`, to be unlinked later
        self.last_epoch: int | None = None  # of the last whole batch
        self._dense = True  # no offset is missing in the part of the last segment that was read

    def run(self, segments: list[Segment], recovery_point: int) -> int:
        """Scan from the recovery point, cut what is spoilt (also from `segments`); gives the end offset of the log."""
        first = 0
        for number, segment in enumerate(segments):
            if segment.base_offset <= recovery_point:
                first = number
        next_offset = segments[first].base_offset
        for number in range(first, len(segments)):
            segment = segments[number]
            problem = self._neighbour_problem(segment, next_offset) if number > first else None
            if problem:
                self._drop(segments, number, Damage(segment.path, 0, problem))
                break
            next_offset, damage = self._scan(segment, recovery_point)
            if number + 1 < len(segments):
                segment.write_indexes(sealed=True)
            if damage is not None:
                self._cut(segment, damage)
                self._drop(segments, number + 1, damage)
                break
        return next_offset

    def _neighbour_problem(self, segment: Segment, next_offset: int) -> str | None:
        """Whether this segment can follow one that ends before `next_offset`.

        Segments we write end where the next one begins. A power loss may spare a younger file and not an older one, and
        that hole must not pass for a gap of compaction: only a segment in which compaction left its traces may end
        early (Kafka's do, and may be empty), or one before a jump too wide for an index.
        """
        gap = segment.base_offset - next_offset
        if gap < 0:
            return f"starts at offset {segment.base_offset}, which the segment before it holds"
        if 0 < gap < WIDE_GAP and self._dense:
            return f"starts at offset {segment.base_offset}, but the segment before it ends at {next_offset}"
        return None

    def _scan(self, segment: Segment, recovery_point: int) -> tuple[int, Damage | None]:
        start, lowest = self._start(segment, recovery_point), segment.base_offset
        size, next_offset = segment.size, lowest
        segment.trusted_from = start
        self._dense = size > 0 or not self._config.compacts
        file = segment.opened()
        position = start
        try:
            for position, header, _ in scan(self._disk, file.fd, segment.path, start, size, lowest_offset=lowest):
                follows = header.base_offset == next_offset or (position == start and start > 0)
                if not follows or header.record_count != header.last_offset_delta + 1:
                    self._dense = False
                next_offset = header.next_offset
                segment.note_batch(
                    position, header.size, next_offset - 1, header.max_timestamp, self._config.index_interval_bytes
                )
                if self.last_epoch is None:  # from here on the headers tell, not the file
                    self._epochs.truncate_from_end(header.base_offset)
                self.last_epoch = header.leader_epoch
                self._epochs.assign(header.leader_epoch, header.base_offset)
                if self._on_batch is not None:
                    self._on_batch(header)
        except Damaged as damaged:
            segment.size = size
            self._report.scanned_bytes += damaged.damage.position - start
            return next_offset, damaged.damage
        segment.size = size
        self._report.scanned_bytes += size - start
        return next_offset, None

    def _start(self, segment: Segment, recovery_point: int) -> int:
        """Where to start reading: at the last index entry before the recovery point, if the log confirms it.

        The indexes are cut there, for what they say of later batches was never flushed; the scan adds the rest again.
        """
        if segment.base_offset < recovery_point:
            segment.offset_index.trim_padding()
            segment.time_index.trim_padding()
            segment.truncate_indexes(recovery_point - 1)
            last = segment.offset_index.last_batch()
            if last is not None and self._confirms(segment, *last):
                segment.bytes_since_index = 0
                return last[1]
        segment.forget_indexes()
        return 0

    def _confirms(self, segment: Segment, last_offset: int, position: int) -> bool:
        if position == 0 or not len(segment.time_index) or segment.time_index.problem():
            return False
        file = segment.opened()
        try:
            _, header, _ = next(
                scan(
                    self._disk,
                    file.fd,
                    segment.path,
                    position,
                    segment.size,
                    lowest_offset=segment.base_offset,
                )
            )
        except (Damaged, StopIteration):
            return False
        return header.last_offset == last_offset

    def _cut(self, segment: Segment, damage: Damage) -> None:
        self._report.cut = damage
        self._report.cut_bytes += segment.size - damage.position
        segment.cut(damage.position)

    def _drop(self, segments: list[Segment], number: int, damage: Damage) -> None:
        """Put aside every segment from `number` on: nothing may follow a hole."""
        self._report.cut = self._report.cut or damage
        for segment in segments[number:]:
            self._report.removed_segments.append(segment.path)
            self._report.cut_bytes += segment.size
            segment.release()
            segment.rename(".deleted")
            self.dropped.append(segment)
        del segments[number:]
