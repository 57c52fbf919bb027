"""The node's clock: wall time that runs steadily.

Deadlines (sessions, delays, expiry) must not jump when the machine's clock is set, so the wall time read at the start
is carried on by the monotonic clock. Timestamps stamped on records are wall time, read anew.
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


def wall_ms() -> int:
    return int(source.time() * 1000)
