"""Medians, percentiles and ratios: the only arithmetic between a run and the table.

A percentile is a value that was really measured (no interpolation), so a p99 can be found again among the samples.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

Run = Mapping[str, float | str]


def percentile(ordered: Sequence[float], quantile: float) -> float:
    """The value below which `quantile` of the sorted samples lie."""
    if not ordered:
        raise ValueError("no samples")
    return ordered[min(len(ordered) - 1, int(len(ordered) * quantile))]


def latency_summary(samples_ms: Iterable[float], prefix: str) -> dict[str, float]:
    ordered = sorted(samples_ms)
    return {
        f"{prefix}_p50_ms": round(percentile(ordered, 0.50), 3),
        f"{prefix}_p99_ms": round(percentile(ordered, 0.99), 3),
        f"{prefix}_max_ms": round(ordered[-1], 3),
    }


def medians(runs: Sequence[Run]) -> dict[str, float]:
    """The median of every number that occurs in the runs; words (names of threads) are left out."""
    keys = dict.fromkeys(key for run in runs for key in run)
    out: dict[str, float] = {}
    for key in keys:
        values = [value for run in runs if isinstance(value := run.get(key), (int, float))]
        if values:
            out[key] = round(statistics.median(values), 4)
    return out


def ratio(ours: float, theirs: float) -> float | None:
    """ours/theirs; nothing when there is nothing to divide by (a CPU time below the clock's tick)."""
    return ours / theirs if theirs > 0 else None


def geometric_mean(values: Sequence[float]) -> float:
    """The mean that fits ratios: twice as fast and half as fast cancel out."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def spread(values: Sequence[float]) -> float:
    """(largest - smallest) / median: how far to trust the median."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0
