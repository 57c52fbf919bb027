"""What a log is made of, and the few changes that keep its parts in step: which segment is written to, what is sealed,
when the next append must roll. The operations are in log.py and in the files it names.
"""

import logging
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

from barnabas.model.producers import ProducerEntry
from barnabas.storage.config import LogConfig
from barnabas.storage.damage import Damage
from barnabas.storage.disk import Disk
from barnabas.storage.epochs import LeaderEpochs
from barnabas.storage.files import FilePool
from barnabas.storage.recovery import RecoveryReport
from barnabas.storage.retention import Doomed
from barnabas.storage.segment import NEVER, Segment
from barnabas.storage.slice import Slice
from barnabas.storage.snapshots import Snapshots

logger = logging.getLogger(__name__)

NOT_CUT = 1 << 62


class LogState:
    # For everybody.
    log_start_offset: int
    log_end_offset: int
    first_dirty_offset: int  # what lies below was compacted; from the cleaner's checkpoint
    recovery_point: int  # what lies below is on disk; the owner sets it to what `flush` gave
    cut_to: int  # the lowest end a truncation has left since somebody last set it to NOT_CUT, as a flush does
    epochs: LeaderEpochs
    report: RecoveryReport  # what opening did
    snapshot_source: Callable[[], Sequence[ProducerEntry]] | None
    on_segment_created: Callable[[Segment], None] | None  # its file is there now; on the thread that appends
    closed: bool
    failure: str | None  # why the disk cannot be trusted any more
    # For this room.
    segments: list[Segment]
    bases: list[int]  # base offset of each segment, for binary search
    dirty: list[Segment]  # sealed, not yet flushed
    doomed: list[Doomed]  # removed, to be unlinked later
    unsynced_paths: list[str]
    folder_dirty: bool  # a name in it is new
    parent_dirty: bool  # the folder itself is new
    damages: set[Damage]
    snapshots: Snapshots
    empty_slice: Slice
    recent_lasts: "array[int]"  # last offset and position of the newest batches of the active segment
    recent_positions: "array[int]"
    _config: LogConfig
    _active: Segment
    _sealed_bytes: int
    _position_max: int  # an append that ends behind it takes the slow way
    __slots__ = (*tuple(__annotations__), "__weakref__", "_pwrite", "disk", "files", "folder")

    def __init__(self, folder: str, disk: Disk, files: FilePool) -> None:
        self.folder = folder
        self.disk = disk
        self.files = files
        self._pwrite = disk.pwrite
        self.cut_to = NOT_CUT

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def directory(self) -> Path:
        return Path(self.folder)

    @property
    def config(self) -> LogConfig:
        return self._config

    @config.setter
    def config(self, config: LogConfig) -> None:
        self.set_config(config)
        self.set_roll_limits()

    def set_config(self, config: LogConfig) -> None:
        self._config = config

    @property
    def size_bytes(self) -> int:
        return self._sealed_bytes + self._active.size

    @property
    def unflushed_records(self) -> int:
        return self.log_end_offset - self.recovery_point

    @property
    def active_segment(self) -> Segment:
        return self._active

    def fail(self, reason: str) -> None:
        """The disk broke its promise: from now on every append is refused."""
        self.failure = reason
        self.refuse_appends()

    def refuse_appends(self) -> None:
        self._position_max = -1

    # --- segments -----------------------------------------------------------------------------------------------------

    def start_segment(self, base_offset: int) -> Segment:
        """Put an empty segment at the end of the list. The very first one gets its file with its first batch; the name
        of any other is all that tells where an empty log stands."""
        assert not self.bases or base_offset > self.bases[-1], f"{self.folder}: segments out of order"
        segment = Segment(self.disk, self.files, self.folder, base_offset)
        segment.make_writable()
        if base_offset:
            segment.opened()
            self.folder_dirty = True
            if self.on_segment_created is not None:
                self.on_segment_created(segment)
        self.segments.append(segment)
        self.bases.append(base_offset)
        return segment

    def become_active(self, segment: Segment) -> None:
        assert segment is self.segments[-1] and segment.base_offset == self.bases[-1]
        segment.make_writable()
        self._active = segment
        self._sealed_bytes = sum(other.size for other in self.segments[:-1])
        self.recent_lasts, self.recent_positions = array("q"), array("q")
        self.set_roll_limits()

    def set_roll_limits(self) -> None:
        """What the append compares with; after every change of segment or config."""
        segment = self._active
        writable = self.failure is None and not self.closed
        self._position_max = self._config.segment_bytes if writable else -1
        first = segment.first_timestamp
        segment.roll_after = first + self._config.roll_ms if segment.size and first >= 0 else NEVER

    def forget_sealed(self, segment: Segment) -> None:
        """A sealed segment has left the list."""
        self._sealed_bytes -= segment.size
        assert self._sealed_bytes >= 0, f"{self.folder}: a segment that was not counted has left"
        self.dirty = [other for other in self.dirty if other is not segment]

    def replace_segments(self, first: int, count: int, segment: Segment) -> None:
        """A cleaned segment stands for `count` sealed ones."""
        for old in self.segments[first : first + count]:
            self.forget_sealed(old)
        following = self.bases[first + count : first + count + 1]  # the active one, if no other
        assert following and self.bases[first] <= segment.base_offset < following[0]
        self.segments[first : first + count] = [segment]
        self.bases[first : first + count] = [segment.base_offset]
        self._sealed_bytes += segment.size

    def note_damage(self, damage: Damage) -> None:
        """Say it once, however often it is met."""
        if damage not in self.damages:
            self.damages.add(damage)
            logger.error("damage: %s", damage)
