"""Wall time for what is written into records and read again after a restart; deadlines in memory use the steady clock.

A wall clock may be wrong when a node starts and be set right minutes later (a machine without a battery, before NTP has
answered). Three rules keep that from doing harm, in both directions:

- What is written is never earlier than what was written before in the same log (`stamp_ms`). A clock that lags would
  otherwise make new offsets look decades old, and they would be deleted once it is right.
- What expires is measured by a clock whose jump forward has lasted from one check to the next (`believed_ms`); a clock
  that is ahead for a moment deletes nothing.
- How much of a timeout has passed before a restart (`elapsed_ms`) is at least nothing and at most all of it, so a
  deadline lies at most one timeout ahead, whatever the clock says.
"""

from collections.abc import Callable


def _same(now_ms: int) -> int:
    return now_ms


class WallTime:
    __slots__ = ("_checked_offset_ms", "_now_ms", "_wall_of", "clock_ms", "stamp_ms")

    def __init__(self, wall_of: Callable[[int], int] = _same) -> None:
        """`wall_of` turns milliseconds of the steady clock into what the wall clock says then."""
        self._wall_of = wall_of
        self._now_ms = 0
        self._checked_offset_ms: int | None = None
        self.clock_ms = 0
        self.stamp_ms = 0

    def begin(self, now_ms: int) -> None:
        """A step begins: read the clock, once."""
        self._now_ms = now_ms
        self.clock_ms = self._wall_of(now_ms)
        self.stamp_ms = max(self.stamp_ms, self.clock_ms)

    def read(self, stamp_ms: int) -> None:
        """A record of the log has this time."""
        self.stamp_ms = max(self.stamp_ms, stamp_ms)

    def believed_ms(self) -> int:
        """For a check whether something has expired, called at each such check and when the log has been read."""
        offset_ms = self.clock_ms - self._now_ms
        before = self._checked_offset_ms
        self._checked_offset_ms = offset_ms
        return self._now_ms + (offset_ms if before is None else min(before, offset_ms))

    def elapsed_ms(self, since_ms: int, timeout_ms: int) -> int:
        """How much of a timeout that began at `since_ms` has passed."""
        return min(max(self.clock_ms - since_ms, 0), timeout_ms)
