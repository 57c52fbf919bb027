"""How long to wait before something is tried again: longer each time, up to half a minute, never giving up."""

from __future__ import annotations

import random
import time

FIRST_S = 0.5
LONGEST_S = 30.0


class Pauses:
    def __init__(self) -> None:
        self._next_s = FIRST_S
        self.until = 0.0  # monotonic

    def failed(self) -> float:
        """The pause, which begins now."""
        pause = self._next_s * random.uniform(0.8, 1.2)  # workers that failed together do not come back together
        self._next_s = min(self._next_s * 2, LONGEST_S)
        self.until = time.monotonic() + pause
        return pause

    def succeeded(self) -> None:
        self._next_s = FIRST_S
        self.until = 0.0

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until
