"""The right answer in plain Python, to check Spark's against: the same numbers to the last bit.

Latencies are rounded to eight significant bits (at most 0.4 % off) before percentiles are taken. So a window holds a
few hundred different values however many requests come, its percentiles are exact over those, and any order of adding
them up gives the same number, which no sketch promises.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.pipelines.common.disorder import millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework.records import Record

WINDOW_MS = 10_000
ALLOWED_MS = 10_000  # how late a request may be told of and still count
SIGNIFICANT_BITS = 8
PERCENTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class WindowMetrics:
    """One service in one window. Latencies in milliseconds."""

    service: str
    begin_ms: int
    requests: int
    errors: int
    rate: float
    error_share: float
    p50: float
    p95: float
    p99: float


def windows(records: Iterable[Record], window_ms: int = WINDOW_MS, allowed_ms: int = ALLOWED_MS) -> list[WindowMetrics]:
    """Every service's windows, in order."""
    seen: set[str] = set()
    latencies: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    errors: Counter[tuple[str, int]] = Counter()
    for record in records:
        value = record.value
        time_ms = millis(value["time"])
        if not counts(time_ms, record.time_ms, allowed_ms) or value["id"] in seen:
            continue
        seen.add(value["id"])
        window = value["service"], time_ms - time_ms % window_ms
        latencies[window][rounded(max(0, value["latency_us"]))] += 1
        errors[window] += value["status"] >= 500
    return [_metrics(window, held, errors[window], window_ms) for window, held in sorted(latencies.items())]


def rounded(latency: int) -> int:
    """The middle of all the numbers that agree with this one in its first eight bits."""
    shift = max(0, latency.bit_length() - SIGNIFICANT_BITS)
    return ((latency >> shift) << shift) + ((1 << shift) >> 1)


def percentile(held: Counter[int], share: float) -> float:
    """Between the two values nearest to this share of all, as Spark's `percentile` has it."""
    position = (held.total() - 1) * share
    low, high = math.floor(position), math.ceil(position)
    low_value, high_value = _at(held, low), _at(held, high)
    return low_value + (high_value - low_value) * (position - low)


def _at(held: Counter[int], index: int) -> int:
    passed = 0
    for value in sorted(held):
        passed += held[value]
        if passed > index:
            return value
    raise IndexError(index)


def _metrics(window: tuple[str, int], held: Counter[int], errors: int, window_ms: int) -> WindowMetrics:
    total = held.total()
    p50, p95, p99 = (percentile(held, share) / 1000 for share in PERCENTILES)
    return WindowMetrics(*window, total, errors, total * 1000 / window_ms, errors / total, p50, p95, p99)
