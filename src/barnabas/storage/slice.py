"""A piece of one segment on its way to a reader: descriptor, position, length. The bytes stay in the page cache.

The slice holds the open file, so it stays good while the segment is deleted, swapped by compaction or evicted.
`verified` says whether the bytes may be sent unread; when not, `Log.verify_slice` reads them once (in a thread, they
are cold anyway).
"""

from barnabas.storage.disk import Disk, OpenFile
from barnabas.storage.segment import Segment


class Slice:
    __slots__ = ("disk", "fd", "file", "length", "position", "segment", "verified")

    def __init__(
        self, disk: Disk, segment: Segment | None, file: OpenFile | None, position: int, length: int, verified: bool
    ) -> None:
        self.disk = disk
        self.segment = segment
        self.file = file
        self.fd = file.fd if file is not None else -1
        self.position = position
        self.length = length
        self.verified = verified

    @property
    def empty(self) -> bool:
        return self.length == 0

    def read(self, most: int | None = None) -> bytes:
        """The bytes themselves (or the first of them), for whoever cannot send them from the file."""
        if not self.length:
            return b""
        return self.disk.pread(self.fd, self.length if most is None else min(most, self.length), self.position)
