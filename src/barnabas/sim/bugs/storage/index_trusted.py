"""A reader goes where the index points, without a look at what lies there."""

from collections.abc import Callable

from barnabas.sim.bugs.base import Bug
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import Disk
from barnabas.storage.segment import Segment
from barnabas.storage.walk import Step, walk


def _make(right: Callable[[Segment, int, int, Disk], Step | None]) -> object:
    def find(self: Segment, offset: int, interval_bytes: int = 4096, disk: Disk | None = None) -> Step | None:
        if not self.size:
            return None
        disk = disk or self._disk
        hint = self.offset_index.lookup(offset, disk)
        start = hint[1] if hint is not None else 0
        file = self.opened()
        try:
            return next(walk(disk, file.fd, self.path, start, self.size, lowest_offset=self.base_offset), None)
        except Damaged:
            return right(self, offset, interval_bytes, disk)

    return find


BUG = Bug("index-trusted", "the index is trusted over the log", Segment, "find", _make)
