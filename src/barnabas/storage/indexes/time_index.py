"""`<base offset>.timeindex`: from a timestamp to an offset near it.

Each entry is (largest timestamp of the segment so far, int64; last offset of the batch that carried it, minus the
base offset, int32). An entry is added with each entry of the offset index when the largest timestamp has grown, and
once more when the segment is sealed, so the last entry of a sealed segment is its largest timestamp: retention by
time reads it.
"""

from struct import Struct

from barnabas.storage.disk import Disk
from barnabas.storage.indexes.index_file import IndexFile

ENTRY_BYTES = 12
_ENTRY = Struct(">qi")


class TimeIndex(IndexFile):
    __slots__ = ("_last_timestamp", "base_offset")

    def __init__(self, disk: Disk, path: str, base_offset: int, stored_bytes: int = 0) -> None:
        super().__init__(disk, path, _ENTRY, stored_bytes)
        self.base_offset = base_offset
        self._last_timestamp: int | None = None if self._stored else -1  # None: not read yet

    def add_if_newer(self, timestamp: int, offset: int) -> None:
        last = self._last_timestamp
        if last is None:
            last = self.entry(-1)[0]
        if timestamp > last:
            self.add(timestamp, offset - self.base_offset)
            last = timestamp
        self._last_timestamp = last

    def lookup(self, timestamp: int) -> tuple[int, int] | None:
        """(timestamp, offset) of the last entry not above `timestamp`: every batch that ends before the offset is
        older than that."""
        found = self.floor(timestamp)
        return (found[0], found[1] + self.base_offset) if found else None

    def largest(self) -> tuple[int, int]:
        """(timestamp, last offset of its batch) of the last entry; (-1, base offset) when there is none."""
        if not len(self):
            return -1, self.base_offset
        timestamp, relative = self.entry(-1)
        return timestamp, relative + self.base_offset

    def truncate(self, entries: int) -> None:
        super().truncate(entries)
        self._last_timestamp = None if entries else -1

    def problem(self) -> str | None:
        if not len(self):
            return None
        timestamp, offset = self.largest()
        if timestamp < self.entry(0)[0]:
            return "its last timestamp is below its first"
        if offset < self.base_offset:
            return f"its last entry is offset {offset}, below the base offset"
        return None
