"""A day's service levels: what was promised, what was kept, and when it was not.

`Promise` is the service-level objective. The error budget is the number of failures that the promise forgives: at
99.9 % that is one request in a thousand; `budget_used` of 1 means all of it is gone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.pipelines.common.disorder import millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework.records import Record
from barnabas.pipelines.metrics.answer import (
    ALLOWED_MS,
    PERCENTILES,
    WindowMetrics,
    percentile,
    rounded,
    windows,
)


@dataclass(frozen=True, slots=True)
class Promise:
    """Availability in percent, and the latency that 95 of 100 requests stay below."""

    availability: float = 99.5
    p95_ms: float = 400.0

    def kept_in(self, window: WindowMetrics) -> bool:
        return window.error_share <= self.forgiven and window.p95 <= self.p95_ms

    @property
    def forgiven(self) -> float:
        return (100 - self.availability) / 100


@dataclass(frozen=True, slots=True)
class ServiceLevel:
    """One service over the whole time. Latencies in milliseconds."""

    service: str
    requests: int
    errors: int
    p50: float
    p95: float
    p99: float
    windows: int
    windows_broken: int
    budget_used: float

    @property
    def availability(self) -> float:
        return 100 * (1 - self.errors / self.requests)


def levels(records: list[Record], promise: Promise, allowed_ms: int = ALLOWED_MS) -> list[ServiceLevel]:
    """The answer in plain Python."""
    held: dict[str, Counter[int]] = defaultdict(Counter)
    errors: Counter[str] = Counter()
    seen: set[str] = set()
    for record in records:
        value = record.value
        if value["id"] in seen or not counts(millis(value["time"]), record.time_ms, allowed_ms):
            continue
        seen.add(value["id"])
        held[value["service"]][rounded(max(0, value["latency_us"]))] += 1
        errors[value["service"]] += value["status"] >= 500
    by_service = by_name(windows(records, allowed_ms=allowed_ms))
    found = []
    for service in sorted(held):
        latencies = [percentile(held[service], share) / 1000 for share in PERCENTILES]
        found.append(level(service, held[service].total(), errors[service], latencies, by_service[service], promise))
    return found


def level(
    service: str, requests: int, errors: int, latencies: list[float], seen: list[WindowMetrics], promise: Promise
) -> ServiceLevel:
    p50, p95, p99 = latencies
    broken = sum(not promise.kept_in(window) for window in seen)
    forgiven = requests * promise.forgiven
    used = errors / forgiven if forgiven else float(errors > 0)
    return ServiceLevel(service, requests, errors, p50, p95, p99, len(seen), broken, used)


def by_name(found: Iterable[WindowMetrics]) -> dict[str, list[WindowMetrics]]:
    grouped: dict[str, list[WindowMetrics]] = defaultdict(list)
    for window in found:
        grouped[window.service].append(window)
    return grouped
