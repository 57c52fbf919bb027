"""A sparse index on disk: fixed-size entries in ascending order, most of them in the file, the newest in memory.

The active segment adds an entry every few kilobytes of log; writing each one would double the system calls of an
append, so entries gather in a small tail and go to the file together (when the tail is full, when the segment is
sealed, when the log is closed). A crash loses the tail only, and recovery builds it again from the log. Files are
created with their first entries or when the segment is sealed; in a broker, empty, soon after the first record
(broker/upkeep/index_files.py). An empty partition has none. Kafka preallocates its
index files with zeros and cuts them at a clean stop; `trim_padding` finds the end of a file that was left uncut.

No descriptor is kept: a search opens the file, reads about ten numbers and one page, and closes it.
"""

from bisect import bisect_right
from operator import lt
from struct import Struct

from barnabas.storage.disk import Disk

TAIL_ENTRIES = 512  # 2 MiB of log between two writes at the default interval
PAGE_ENTRIES = 512  # once the search is this narrow, one read brings the rest


class IndexFile:
    """Entries packed by `layout`; every field ascends, the first one is the key."""

    __slots__ = ("_disk", "_entry_bytes", "_layout", "_stored", "_tail", "path")

    def __init__(self, disk: Disk, path: str, layout: Struct, stored_bytes: int = 0) -> None:
        self._disk = disk
        self.path = path
        self._layout = layout
        self._entry_bytes = layout.size
        self._stored = stored_bytes // layout.size
        self._tail = bytearray()

    def __len__(self) -> int:
        return self._stored + len(self._tail) // self._entry_bytes

    def add(self, *fields: int) -> None:
        if self._tail:
            before = self._layout.unpack_from(self._tail, len(self._tail) - self._entry_bytes)
            assert all(map(lt, before, fields)), f"{self.path}: {fields} after {before}"
        self._tail += self._layout.pack(*fields)
        if len(self._tail) >= TAIL_ENTRIES * self._entry_bytes:
            self.write()

    def write(self, *, create: bool = False) -> None:
        """Put the tail into the file, and cut whatever an older owner left behind it."""
        if not self._tail and not create:
            return
        file = self._disk.open(self.path, write=True, create=True)
        position = self._stored * self._entry_bytes
        # A copy: the traceback of a failed write would go on holding a view of the tail, which then could not grow.
        self._disk.write_all(file.fd, bytes(self._tail), position)
        self._disk.truncate(file.fd, position + len(self._tail))
        stored, tail = self._stored + len(self._tail) // self._entry_bytes, bytearray()
        self._stored = stored  # nothing between these two: a thread may be searching
        self._tail = tail

    def entry(self, number: int) -> tuple[int, ...]:
        """The entry with this number; the last one is -1."""
        if number < 0:
            number += len(self)
        if number >= self._stored:
            return self._layout.unpack_from(self._tail, (number - self._stored) * self._entry_bytes)
        file = self._disk.open(self.path)
        return self._layout.unpack(self._read(file.fd, number, 1))

    def all(self) -> list[tuple[int, ...]]:
        """Every entry, for checks and tests."""
        stored = b""
        if self._stored:
            file = self._disk.open(self.path)
            stored = self._read(file.fd, 0, self._stored)
        return list(self._layout.iter_unpack(stored)) + list(self._layout.iter_unpack(self._tail))

    def floor(self, key: int, disk: Disk | None = None) -> tuple[int, ...] | None:
        """The last entry whose key is at most `key`, None when every entry lies above it."""
        return self.search(key, disk=disk)[1]

    def search(self, value: int, field: int = 0, disk: Disk | None = None) -> tuple[int, tuple[int, ...] | None]:
        """Number and content of the last entry whose field is at most `value`; (-1, None) when there is none.

        Whatever the file holds, the entry given was looked at and is not above `value`.
        """
        tail, unpack = self._tail, self._layout.unpack_from
        if tail and unpack(tail)[field] <= value:
            number, entry = self._search_in(tail, value, field)
            return self._stored + number, entry
        if not self._stored:
            return -1, None
        disk = disk or self._disk
        file = disk.open(self.path)
        low, high = 0, self._stored
        while high - low > PAGE_ENTRIES:
            middle = (low + high) // 2
            if unpack(self._read(file.fd, middle, 1, disk))[field] <= value:
                low = middle
            else:
                high = middle
        number, entry = self._search_in(self._read(file.fd, low, high - low, disk), value, field)
        return (low + number, entry) if entry is not None else (-1, None)

    def truncate(self, entries: int) -> None:
        """Keep the first `entries`."""
        assert entries >= 0
        if entries >= self._stored:
            del self._tail[(entries - self._stored) * self._entry_bytes :]
            return
        self._tail = bytearray()
        self._stored = entries
        file = self._disk.open(self.path, write=True)
        self._disk.truncate(file.fd, entries * self._entry_bytes)

    def trim_padding(self) -> None:
        """Forget the zeros after the last entry of a file that was preallocated and never cut."""
        zeros = bytes(self._entry_bytes)
        if self._stored < 2 or self._read_one(self._stored - 1) != zeros:
            return
        low, high = 0, self._stored - 1  # entry `high` is zeros; zeros stand only at the end
        while low < high:
            middle = (low + high) // 2
            if self._read_one(middle) == zeros:
                high = middle
            else:
                low = middle + 1
        self.truncate(low)

    def _search_in(self, data: bytes | bytearray, value: int, field: int) -> tuple[int, tuple[int, ...] | None]:
        size, unpack = self._entry_bytes, self._layout.unpack_from
        number = bisect_right(range(len(data) // size), value, key=lambda i: unpack(data, i * size)[field]) - 1
        return number, unpack(data, number * size) if number >= 0 else None

    def _read_one(self, number: int) -> bytes:
        file = self._disk.open(self.path)
        return self._read(file.fd, number, 1)

    def _read(self, fd: int, number: int, count: int, disk: Disk | None = None) -> bytes:
        data = (disk or self._disk).pread(fd, count * self._entry_bytes, number * self._entry_bytes)
        if len(data) != count * self._entry_bytes:
            raise OSError(f"{self.path} is shorter than it was")
        return data
