"""`<base offset>.txnindex`: which transactions of a log were aborted, for a read_committed reader to leave out.

An entry is written when the abort marker is. The entries of a whole log are kept in memory, four numbers each, in the
order of their markers; the files (Kafka's format) are read when the log is opened. A file is named after the segment
that was active when its first entry came, and goes when everything in it lies before the start of the log.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from barnabas.storage.disk import DISK, Disk

ENTRY = Struct(">hqqqq")  # version, producer id, first offset, last offset, last stable offset
_VERSION = 0
_SUFFIX = ".txnindex"


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    last_stable_offset: int


class AbortedTransactions:
    __slots__ = ("_columns", "_disk", "_files", "_folder")

    def __init__(self, folder: str, *, disk: Disk = DISK) -> None:
        self._disk = disk
        self._folder = folder
        # Producer ids, first and last offsets. A thread may read while the loop writes, so a row is there when its last
        # offset is, and rows go by new columns, never out of the old ones.
        self._columns = (array("q"), array("q"), array("q"))
        self._files: dict[str, int] = {}  # path: the last offset in it

    def load(self, names: dict[str, int], end_offset: int) -> None:
        """Read the files; entries from `end_offset` on are not trusted (the owner replays them) and are cut off."""
        for name in sorted(name for name in names if name.endswith(_SUFFIX)):
            path = f"{self._folder}/{name}"
            good = 0
            for entry in _entries(self._disk.read_whole(path) or b""):
                if entry.last_offset >= end_offset:
                    break
                good += ENTRY.size
                if entry.last_offset > self._newest():  # one that was cut from a file may be in the next one again
                    self._remember(entry)
                    self._files[path] = entry.last_offset
            if good < names[name]:
                self._cut(path, good)

    def add(self, entry: AbortedTransaction, segment_base_offset: int) -> str:
        """One more, behind all others; gives the path that now needs a flush."""
        path = f"{self._folder}/{segment_base_offset:020d}{_SUFFIX}"
        file = self._disk.open(path, write=True, create=True)
        data = ENTRY.pack(_VERSION, *entry)
        size = self._disk.size(path) if path in self._files else 0
        self._disk.write_all(file.fd, data, size - size % ENTRY.size)  # over what a full disk left of an entry
        self._files[path] = entry.last_offset
        self._remember(entry)
        return path

    def between(self, start_offset: int, end_offset: int) -> list[tuple[int, int]]:
        """(producer id, first offset) of every one that touches the offsets from start to before end."""
        producers, firsts, lasts = self._columns
        rows = range(bisect_left(lasts, start_offset), len(lasts))
        return [(producers[row], firsts[row]) for row in rows if firsts[row] < end_offset]

    def forget_before(self, log_start_offset: int) -> None:
        """What ended before the start of the log no longer matters."""
        producers, firsts, lasts = self._columns
        gone = bisect_left(lasts, log_start_offset)
        if not gone:
            return
        self._columns = (producers[gone:], firsts[gone:], lasts[gone:])
        for path in [path for path, last in self._files.items() if last < log_start_offset]:
            self._disk.unlink(path)
            del self._files[path]

    def __len__(self) -> int:
        return len(self._columns[2])

    def _newest(self) -> int:
        lasts = self._columns[2]
        return lasts[-1] if lasts else -1

    def _remember(self, entry: AbortedTransaction) -> None:
        for column, value in zip(self._columns, entry[:3], strict=True):
            column.append(value)

    def _cut(self, path: str, size: int) -> None:
        if size:
            file = self._disk.open(path, write=True)
            self._disk.truncate(file.fd, size)
            self._disk.sync(file.fd, path)  # else a power loss brings back entries of a log that went another way
        else:
            self._disk.unlink(path)


def _entries(data: bytes) -> Iterator[AbortedTransaction]:
    for position in range(0, len(data) - ENTRY.size + 1, ENTRY.size):
        version, *fields = ENTRY.unpack_from(data, position)
        if version != _VERSION:
            return
        yield AbortedTransaction(*fields)
