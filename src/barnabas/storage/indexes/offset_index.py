"""`<base offset>.index`: from an offset to a place in the segment near it.

Each entry is (last offset of a batch minus the base offset of the segment, position where that batch starts), both
int32, as Kafka writes it and as kafka-dump-log checks it. A search gives the batch to start walking from: the last
indexed one that ends at or before the offset asked for, or the start of the segment.
"""

from struct import Struct

from barnabas.storage.disk import Disk
from barnabas.storage.indexes.index_file import IndexFile

ENTRY_BYTES = 8
_ENTRY = Struct(">ii")


class OffsetIndex(IndexFile):
    __slots__ = ("base_offset",)

    def __init__(self, disk: Disk, path: str, base_offset: int, stored_bytes: int = 0) -> None:
        super().__init__(disk, path, _ENTRY, stored_bytes)
        self.base_offset = base_offset

    def add_batch(self, last_offset: int, position: int) -> None:
        self.add(last_offset - self.base_offset, position)

    def lookup(self, offset: int, disk: Disk | None = None) -> tuple[int, int] | None:
        """(last offset, position) of the nearest indexed batch that does not end after `offset`."""
        found = self.floor(offset - self.base_offset, disk)
        return (found[0] + self.base_offset, found[1]) if found else None

    def last_batch(self) -> tuple[int, int] | None:
        if not len(self):
            return None
        relative, position = self.entry(-1)
        return relative + self.base_offset, position

    def problem(self, segment_bytes: int) -> str | None:
        """Why this cannot be the index of a segment of that size, judged by its end alone."""
        last = self.last_batch()
        if last is None:
            return None
        if last[0] < self.base_offset:
            return f"its last entry is offset {last[0]}, below the base offset"
        if not 0 <= last[1] < segment_bytes:
            return f"its last entry is position {last[1]} of {segment_bytes}"
        return None
