"""The node's clock: wall time that runs steadily.

Deadlines in memory (sessions, delays, timeouts) must not jump when the machine's clock is set, so they use a steady
clock: the wall time read at the start, carried on by the monotonic clock. It is as wrong as the machine's clock was
then, for the life of the process, so nothing that is persisted may come from it: what is written down is wall time,
read anew, and turned into a deadline when it is read back (core/wall_time.py).
"""

import time
from typing import Protocol


class TimeSource(Protocol):
    def time(self) -> float: ...
    def monotonic(self) -> float: ...


source: TimeSource = time  # the simulator puts its own here


class Clock:
    __slots__ = ("_start_ms",)

    def __init__(self) -> None:
        self._start_ms = source.time() * 1000 - source.monotonic() * 1000

    def steady_ms(self) -> int:
        return int(self._start_ms + source.monotonic() * 1000)

    def wall_of(self, steady_ms: int) -> int:
        """What the machine's clock says at this steady time, as it is set now."""
        return steady_ms + wall_ms() - self.steady_ms()


def wall_ms() -> int:
    return int(source.time() * 1000)
