"""What was used lately, and how long to throttle for it: Kafka's Rate and TokenBucket, to the millisecond.

A rate is measured over some samples of a second each (`quota.window.num`, `quota.window.size.seconds`). A sample begins
with the first use after the one before is over, so the window is at least all samples but one, and longer by what has
passed of the present one. Who is above its rate is throttled for as long as it takes until the window's mean is down to
it again. `now_ms` comes from outside and never goes back.
"""

from math import floor
from typing import NamedTuple

THROTTLE_MAX_MS = 2**31 - 1  # what an answer can carry


class Samples(NamedTuple):
    number: int
    window_ms: int


class RateWindow:
    __slots__ = ("_current", "_events_ms", "_samples", "_starts_ms", "_values", "last_ms")

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._starts_ms: list[int] = []  # of each sample: its begin, its last use, its sum
        self._events_ms: list[int] = []
        self._values: list[float] = []
        self._current = 0
        self.last_ms = 0

    def record(self, value: float, now_ms: int) -> None:
        count, window_ms = self._samples
        starts, current = self._starts_ms, self._current
        if not starts:
            self._append(now_ms)
        elif now_ms - starts[current] >= window_ms:
            self._current = current = (current + 1) % (count + 1)
            if current >= len(starts):
                self._append(now_ms)
            else:
                starts[current], self._values[current] = now_ms, 0.0
        self._values[current] += value
        self._events_ms[current] = self.last_ms = now_ms

    def _append(self, now_ms: int) -> None:
        self._starts_ms.append(now_ms)
        self._events_ms.append(now_ms)
        self._values.append(0.0)

    def measure(self, now_ms: int) -> tuple[float, int]:
        """(use a second, over how many milliseconds)."""
        count, window_ms = self._samples
        starts, events = self._starts_ms, self._events_ms
        if not starts:
            self._append(now_ms)
        expired = now_ms - count * window_ms
        if min(events) <= expired:
            for index, event_ms in enumerate(events):
                if event_ms <= expired:
                    starts[index] = events[index] = now_ms
                    self._values[index] = 0.0
        elapsed = now_ms - min(starts)
        whole = elapsed // window_ms
        if whole < count - 1:
            elapsed += (count - 1 - whole) * window_ms
        elapsed = max(elapsed, 1)
        return sum(self._values) / (elapsed / 1000), elapsed

    def throttle_ms(self, limit: float, now_ms: int) -> int:
        rate, elapsed = self.measure(now_ms)
        if rate <= limit:
            return 0
        return throttle_time_ms((rate - limit) / limit * elapsed) if limit > 0 else THROTTLE_MAX_MS


class TokenBucket:
    """A stock of tokens that fills at the rate of the quota, up to what all samples together may hold (KIP-599)."""

    __slots__ = ("_samples", "_tokens", "last_ms")

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._tokens = 0.0
        self.last_ms = -1

    def tokens(self, rate: float, now_ms: int) -> float:
        full = rate * self._samples.number * self._samples.window_ms / 1000
        if self.last_ms < 0:
            self._tokens = full
        else:
            self._tokens = min(full, self._tokens + rate * (now_ms - self.last_ms) / 1000)
        self.last_ms = now_ms
        return self._tokens

    def take(self, count: float, rate: float, now_ms: int) -> None:
        self.tokens(rate, now_ms)
        self._tokens -= count

    def throttle_ms(self, rate: float, now_ms: int) -> int:
        """Until the tokens that were taken too many have come."""
        tokens = self.tokens(rate, now_ms)
        return 0 if tokens >= 0 else throttle_time_ms(-tokens / rate * 1000)


def throttle_time_ms(time_ms: float) -> int:
    """As Java rounds."""
    return min(floor(time_ms + 0.5), THROTTLE_MAX_MS) if time_ms < THROTTLE_MAX_MS else THROTTLE_MAX_MS
