"""How fast recommendations come: the last one, p50 and p99 of the last ten seconds, and how many a second."""

from __future__ import annotations

import math
from collections import deque

OVER_S = 10.0
MOST = 50_000  # of ten seconds, so that a fast stream does not fill memory


class Pace:
    """Fed by the thread that reads recommendations, asked by the one that draws; the time is an argument."""

    def __init__(self) -> None:
        self.last_ms: float | None = None
        self._came: deque[tuple[float, float]] = deque(maxlen=MOST)  # when, and how many ms after the event was sent
        self._all: deque[float] = deque(maxlen=MOST)

    def add(self, now_s: float, delay_ms: float) -> None:
        self.last_ms = delay_ms
        self._came.append((now_s, delay_ms))
        self._all.append(delay_ms)

    def percentiles(self, now_s: float) -> tuple[float, float] | None:
        """p50 and p99 in ms, of those that came in the last ten seconds."""
        return _both([delay for at_s, delay in list(self._came) if now_s - at_s <= OVER_S])

    def per_s(self, now_s: float) -> float:
        recent = [at_s for at_s, _ in list(self._came) if now_s - at_s <= OVER_S]
        return len(recent) / max(1.0, now_s - recent[0]) if recent else 0.0

    def whole(self) -> tuple[float, float] | None:
        """p50 and p99 of the whole run."""
        return _both(list(self._all))

    def told(self, now_s: float) -> str:
        """One line; empty before the first."""
        found = self.percentiles(now_s)
        if self.last_ms is None:
            return ""
        line = f"the last after {milliseconds(self.last_ms)}"
        if found is not None:
            line += f", p50 {milliseconds(found[0])}, p99 {milliseconds(found[1])} in 10 s, {self.per_s(now_s):.0f}/s"
        return line


def milliseconds(delay_ms: float) -> str:
    return f"{delay_ms:.0f} ms" if delay_ms < 10_000 else f"{delay_ms / 1000:.1f} s"


def _both(delays: list[float]) -> tuple[float, float] | None:
    if not delays:
        return None
    delays.sort()
    return delays[(len(delays) - 1) // 2], delays[math.ceil(0.99 * len(delays)) - 1]
