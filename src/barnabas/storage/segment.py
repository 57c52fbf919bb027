"""One segment: `<base offset>.log` with its two indexes. The last one of a log is written to, the others are sealed.

Decides where in the file an offset stands, when an index entry is due, and which bytes can be served unread:
- bytes this process appended (their CRC was checked when they arrived) or scanned in recovery are trusted: all from
  `trusted_from`;
- older bytes are verified once, the first time somebody reads them, and remembered as intervals (`verified`).

The indexes are hints. `find` checks the batch an entry points to; an index that lies is built again from the log, and
a log that lies is reported as damage.
"""

import sys
from collections.abc import Iterator

from barnabas.storage.damage import Damaged
from barnabas.storage.disk import ColdRead, Disk, OpenFile
from barnabas.storage.epochs import LeaderEpochs
from barnabas.storage.files import FilePool
from barnabas.storage.indexes.offset_index import OffsetIndex
from barnabas.storage.indexes.time_index import TimeIndex
from barnabas.storage.walk import Step, scan, walk
from barnabas.wire.batch import HEADER_BYTES, read_header

NEVER = 2**63 - 1
_STEPS_AT_ONCE = 2_000  # batches walked on the thread of the loop, 0.5 us each; an index interval has about 60


class Segment:
    __slots__ = (
        "__weakref__",
        "_disk",
        "_files",
        "base_offset",
        "bytes_since_index",
        "file",
        "first_timestamp",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_index",
        "on_disk",
        "roll_after",
        "size",
        "stem",
        "suffix",
        "time_index",
        "trusted_from",
        "verified",
        "writable",
    )

    def __init__(
        self,
        disk: Disk,
        files: FilePool,
        directory: str,
        base_offset: int,
        *,
        size: int = 0,
        index_bytes: int = 0,
        time_index_bytes: int = 0,
        on_disk: bool = False,
        suffix: str = "",
    ) -> None:
        self._disk = disk
        self._files = files
        self.base_offset = base_offset
        self.stem = f"{directory}/{base_offset:020d}"
        self.suffix = suffix
        self.size = size
        self.on_disk = on_disk
        self.writable = False
        self.file: OpenFile | None = None
        self.offset_index = OffsetIndex(disk, f"{self.stem}.index{suffix}", base_offset, index_bytes)
        self.time_index = TimeIndex(disk, f"{self.stem}.timeindex{suffix}", base_offset, time_index_bytes)
        self.max_timestamp = -1 if size == 0 else -2  # -2: not read yet, see largest_timestamp()
        self.max_timestamp_offset = base_offset
        self.first_timestamp = -1  # largest of the first batch; the clock of rolling by time starts there
        self.roll_after = NEVER
        self.bytes_since_index = 0
        self.trusted_from = size
        self.verified: tuple[tuple[int, int], ...] = ()

    @property
    def path(self) -> str:
        return f"{self.stem}.log{self.suffix}"

    def paths(self) -> tuple[str, ...]:
        """Every file that may belong to this segment; the log comes last, for it is what makes the others count.

        Not its `.txnindex`: an aborted transaction may reach over segments, so those files have an owner of their own.
        """
        ends = ("index", "timeindex", "log")
        return tuple(f"{self.stem}.{end}{self.suffix}" for end in ends)

    # --- the file -----------------------------------------------------------------------------------------------------

    def opened(self) -> OpenFile:
        """The file, for writing too (and made, when it is not there) while the segment is the active one."""
        file = self.file
        if file is None:
            file = self._files.open(self._disk, self, self.path, write=self.writable, create=self.writable)
            self.on_disk = True
        file.recently_used = True
        return file

    def make_writable(self) -> None:
        if not self.writable:
            self.writable = True
            self.release()  # what is open is for reading only

    def release(self) -> None:
        """Let go of the descriptor; slices on their way keep it alive."""
        self._files.drop(self)

    def rename(self, suffix: str) -> None:
        """Give every file of the segment another suffix; the log goes last in, so that indexes never lack."""
        before = self.paths()
        self.suffix = suffix
        for old, new in zip(before, self.paths(), strict=True):
            if self._disk.exists(old):
                self._disk.rename(old, new)
        self.offset_index.path = f"{self.stem}.index{suffix}"
        self.time_index.path = f"{self.stem}.timeindex{suffix}"

    def unlink(self) -> None:
        self.release()
        for path in self.paths():
            self._disk.unlink(path)

    # --- growing ------------------------------------------------------------------------------------------------------

    def note_batch(self, position: int, size: int, last_offset: int, max_timestamp: int, interval_bytes: int) -> None:
        """Book a batch that stands at `position`, as an append does; recovery, rebuilding and cleaning use it too."""
        if position == 0:
            self.first_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if self.bytes_since_index > interval_bytes:
            self.add_index_entry(position, last_offset)
        self.bytes_since_index += size
        self.size = position + size

    def add_index_entry(self, position: int, last_offset: int) -> None:
        self.offset_index.add_batch(last_offset, position)
        self.time_index.add_if_newer(self.max_timestamp, self.max_timestamp_offset)
        self.bytes_since_index = 0

    def write_indexes(self, *, sealed: bool = False) -> None:
        """Put the tails on disk; a sealed segment ends its time index with its largest timestamp and has both files."""
        if self.size and self.largest_timestamp() >= 0:
            self.time_index.add_if_newer(self.max_timestamp, self.max_timestamp_offset)
        self.offset_index.write(create=sealed)
        self.time_index.write(create=sealed)

    def make_index_files(self) -> None:
        """In any thread: both files are there, empty until their first entries. Where the segment is removed or renamed
        meanwhile, nothing stays behind; what is missed in between goes at the next opening (leftovers.py)."""
        for path in (f"{self.stem}.index", f"{self.stem}.timeindex"):
            try:
                self._disk.open(path, write=True, create=True)
                if not self._disk.exists(f"{self.stem}.log"):
                    self._disk.unlink(path)
            except OSError:  # the folder is gone, or there is no space: they come with their first entries
                return

    @property
    def has_no_index_entry(self) -> bool:
        return not len(self.offset_index) and not len(self.time_index)

    def cut(self, position: int) -> None:
        """End the file at this batch boundary."""
        assert 0 <= position <= self.size, f"{self.path}: cut at {position} of {self.size}"
        if self.on_disk:
            self.make_writable()
            file = self.opened()
            self._disk.truncate(file.fd, position)
        self.size = position
        self.trusted_from = min(self.trusted_from, position)
        self.verified = tuple((start, min(end, position)) for start, end in self.verified if start < position)

    def truncate_indexes(self, last_offset: int) -> None:
        """Keep the entries of batches that end at or before `last_offset`, as far as the offset index covers them."""
        number, entry = self.offset_index.search(last_offset - self.base_offset)
        self.offset_index.truncate(number + 1)
        kept = self.time_index.search(entry[0], field=1)[0] + 1 if entry is not None else 0
        self.time_index.truncate(kept)
        self.max_timestamp, self.max_timestamp_offset = self.time_index.largest()

    # --- finding ------------------------------------------------------------------------------------------------------

    def find(self, offset: int, interval_bytes: int = 4096, disk: Disk | None = None) -> Step | None:
        """The first batch that ends at or after `offset`: (position, size, base offset, last offset).

        `disk`: another view of the same files, one that does not wait. Then `ColdRead` also when the place is not near
        an index entry: to walk a gigabyte of headers takes seconds.
        """
        if not self.size:
            return None
        waits = disk is None or disk is self._disk
        steps_max = sys.maxsize if waits else _STEPS_AT_ONCE
        disk = disk or self._disk
        file = self.opened()
        hint = self.offset_index.lookup(offset, disk)
        if hint is not None:
            last_offset, start = hint
            steps = walk(disk, file.fd, self.path, start, self.size, lowest_offset=self.base_offset)
            try:
                first = next(steps, None)
            except Damaged:
                first = None  # damage, or an index that does not fit: walking from the start tells which
            if first is not None and first[3] == last_offset:
                return first if last_offset >= offset else _first_reaching(steps, offset, steps_max)
            if not waits:
                raise ColdRead
        steps = walk(disk, file.fd, self.path, 0, self.size, lowest_offset=self.base_offset)
        found = _first_reaching(steps, offset, steps_max)
        if hint is not None and not self.writable:
            self.rebuild_indexes(interval_bytes)  # the log is whole up to here and the entry did not fit it
        return found

    def load_end(self, interval_bytes: int, epochs: LeaderEpochs | None = None) -> tuple[int, int | None]:
        """Read what the last index entry does not cover; gives the next offset and the leader epoch of the last batch,
        None without one. For the segment to be written to. `epochs` is told of all, if it is read from its start."""
        start = 0
        last = self.offset_index.last_batch()
        if last is not None:
            start = last[1]
            file = self.opened()
            steps = walk(self._disk, file.fd, self.path, start, self.size, lowest_offset=self.base_offset)
            first = next(steps, None)
            if first is None or first[3] != last[0]:
                self.forget_indexes()
                start = 0
        self.max_timestamp, self.max_timestamp_offset = self.time_index.largest()
        self.bytes_since_index = 0
        next_offset, last_epoch = self.base_offset, None
        size = self.size
        if not size:
            return next_offset, None
        file = self.opened()
        try:
            for position, header, _ in scan(
                self._disk, file.fd, self.path, start, size, lowest_offset=self.base_offset, check_crc=False
            ):
                next_offset = header.next_offset
                if header.leader_epoch != last_epoch:
                    last_epoch = header.leader_epoch
                    if epochs is not None and not start:
                        epochs.assign(last_epoch, header.base_offset)
                self.note_batch(position, header.size, next_offset - 1, header.max_timestamp, interval_bytes)
        finally:
            self.size = size  # damage on the way is for the caller to judge, on the whole file
        if start:
            self.first_timestamp = read_header(self._disk.pread(file.fd, HEADER_BYTES, 0)).max_timestamp
        return next_offset, last_epoch

    def rebuild_indexes(self, interval_bytes: int) -> None:
        """Both indexes anew from the headers of the log, as far as it can be walked. In any thread, while nothing is
        appended to the segment: they are built beside the old ones, which are used until then."""
        folder = self.stem.rpartition("/")[0]
        fresh = Segment(self._disk, self._files, folder, self.base_offset, suffix=f"{self.suffix}.tmp")
        file = self.opened()
        try:
            for position, header, _ in scan(
                self._disk, file.fd, self.path, 0, self.size, lowest_offset=self.base_offset, check_crc=False
            ):
                fresh.note_batch(position, header.size, header.last_offset, header.max_timestamp, interval_bytes)
        finally:
            fresh.write_indexes(sealed=True)
            self._take_indexes(fresh)

    def _take_indexes(self, fresh: "Segment") -> None:
        for new, old in ((fresh.offset_index, self.offset_index), (fresh.time_index, self.time_index)):
            self._disk.rename(new.path, old.path)
            new.path = old.path
        self.offset_index, self.time_index = fresh.offset_index, fresh.time_index
        self.max_timestamp, self.max_timestamp_offset = fresh.max_timestamp, fresh.max_timestamp_offset
        self.first_timestamp, self.bytes_since_index = fresh.first_timestamp, fresh.bytes_since_index

    def forget_indexes(self) -> None:
        self.offset_index.truncate(0)
        self.time_index.truncate(0)
        self.max_timestamp, self.max_timestamp_offset = -1, self.base_offset
        self.bytes_since_index = 0

    def largest_timestamp(self) -> int:
        """Of all its records; -1 when none carries one."""
        if self.max_timestamp == -2:
            self.max_timestamp, self.max_timestamp_offset = self.time_index.largest()
        return self.max_timestamp

    # --- trust --------------------------------------------------------------------------------------------------------

    def verified_end(self, position: int) -> int:
        """Up to where bytes from `position` on may be served unread; `position` itself when they may not."""
        if position >= self.trusted_from:
            return self.size
        for start, end in self.verified:
            if start <= position < end:
                return self.size if end >= self.trusted_from else end
        return position

    def mark_verified(self, start: int, end: int) -> None:
        """Remember a verified range, merged with what it touches. One assignment: threads may read meanwhile."""
        assert 0 <= start < end
        kept = []
        for low, high in self.verified:
            if high < start or end < low:
                kept.append((low, high))
            else:
                start, end = min(start, low), max(end, high)
        self.verified = tuple(sorted([*kept, (start, end)]))


def _first_reaching(steps: Iterator[Step], offset: int, most: int) -> Step | None:
    """The first batch that ends at or after `offset`; ColdRead when it is not among the first `most`."""
    for number, step in enumerate(steps):
        if step[3] >= offset:
            return step
        if number >= most:
            raise ColdRead
    return None
