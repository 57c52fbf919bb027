"""The process and the disk: memory, CPU, descriptors, free space and when it will be used up. Read in a thread."""

import os
import resource
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_HISTORY_SECONDS = 3_600.0
_SAMPLE_SECONDS = 60.0
_FORECAST_AFTER_SECONDS = 300.0  # of less than that a forecast would be a guess


class Reading(NamedTuple):
    cpu_seconds: float
    memory_bytes: int
    descriptors: int
    descriptors_max: int
    disk_total: int
    disk_free: int


def read(space: Callable[[], tuple[int, int]]) -> Reading:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Reading(
        usage.ru_utime + usage.ru_stime,
        pages * _PAGE_BYTES,
        sum(1 for _ in Path("/proc/self/fd").iterdir()),
        resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        *space(),
    )


class FreeSpace:
    """Samples of the last hour, one a minute."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int]] = deque()

    def add(self, now: float, free: int) -> None:
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE_SECONDS:
            self._samples.append((now, free))
        while now - self._samples[0][0] > _HISTORY_SECONDS:
            self._samples.popleft()

    def full_in_seconds(self, now: float, free: int) -> float | None:
        """By what was used since the oldest sample; None where that is nothing, or the sample is too new."""
        if not self._samples:
            return None
        began, before = self._samples[0]
        if now - began < _FORECAST_AFTER_SECONDS or free >= before:
            return None
        return free * (now - began) / (before - free)
