"""The day's service-level report: Spark adds up the log, and this writes the page.

Spark gives two small tables, one row for each service and one for each window; everything after that is plain Python on
those rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.common import lateness, page
from barnabas.pipelines.metrics.answer import ALLOWED_MS, WINDOW_MS, WindowMetrics
from barnabas.pipelines.metrics.levels import Promise, ServiceLevel, by_name, level
from barnabas.pipelines.metrics.now import counted, derived, measures, windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_COLUMNS = ("service", "requests", "availability", "error budget used", "p50", "p95", "p99", "windows out of promise")


def recomputed(requests: DataFrame, allowed_ms: int = ALLOWED_MS) -> list[WindowMetrics]:
    """Every window again, from the log."""
    rows = windows(requests, allowed_ms=allowed_ms).orderBy("service", "window").collect()
    return [window_of(row.asDict()) for row in rows]


def window_of(row: JsonObject) -> WindowMetrics:
    """A row of Spark, or a value of the topic."""
    begin = row["window"] if isinstance(row["window"], datetime) else datetime.fromisoformat(row["window"])
    begin = begin if begin.tzinfo else begin.astimezone()  # Spark gives local times without a zone
    rest = (row[name] for name in ("requests", "errors", "rate", "error_share", "p50", "p95", "p99"))
    return WindowMetrics(row["service"], round(begin.timestamp() * 1000), *rest)


def service_levels(
    requests: DataFrame, seen: list[WindowMetrics], promise: Promise, allowed_ms: int = ALLOWED_MS
) -> list[ServiceLevel]:
    rows = (
        counted(requests, allowed_ms)
        .groupBy("service")
        .agg(*measures())
        .select("service", "requests", "errors", *derived())
        .orderBy("service")
        .collect()
    )
    grouped = by_name(seen)
    return [
        level(
            row["service"],
            row["requests"],
            row["errors"],
            [row["p50"], row["p95"], row["p99"]],
            grouped[row["service"]],
            promise,
        )
        for row in rows
    ]


def left_out(requests: DataFrame, allowed_ms: int = ALLOWED_MS) -> int:
    """How many records came too late to count."""
    return requests.where(~lateness.in_time(allowed_ms)).count()


def report(found: list[ServiceLevel], seen: list[WindowMetrics], promise: Promise, too_late: int) -> str:
    """The page."""
    pieces = [page.heading("Promises"), page.card(page.table(_COLUMNS, [_row(each, promise) for each in found]))]
    if seen:
        first, last = min(each.begin_ms for each in seen), max(each.begin_ms for each in seen)
        grouped = by_name(seen)
        for each in found:
            pieces += [page.heading(each.service), _charts(grouped[each.service], first, last, promise)]
        span = f"{_clock(first)} to {_clock(last + WINDOW_MS)} UTC"
    else:
        span = "no requests in this time"
    lead = (
        f"{span}. Promised: {promise.availability:g} % of requests answered, 95 of 100 within {promise.p95_ms:g} ms. "
        f"{too_late:,} records came too late to count."
    )
    return page.page("Service levels", lead, pieces)


def _row(found: ServiceLevel, promise: Promise) -> list[str]:
    return [
        found.service,
        f"{found.requests:,}",
        page.good_or_bad(f"{found.availability:.3f} %", found.availability >= promise.availability),
        page.good_or_bad(f"{found.budget_used:.0%}", found.budget_used <= 1),
        f"{found.p50:,.1f} ms",
        page.good_or_bad(f"{found.p95:,.1f} ms", found.p95 <= promise.p95_ms),
        f"{found.p99:,.1f} ms",
        page.good_or_bad(f"{found.windows_broken:,} of {found.windows:,}", found.windows_broken == 0),
    ]


def _charts(seen: list[WindowMetrics], first: int, last: int, promise: Promise) -> str:
    at = {window.begin_ms: window for window in seen}
    begins = range(first, last + 1, WINDOW_MS)

    def line(number: Callable[[WindowMetrics], float]) -> list[float | None]:
        return [number(at[begin]) if begin in at else None for begin in begins]

    return page.pair(
        page.line_chart("requests a second", line(lambda window: window.rate)),
        page.line_chart("errors, %", line(lambda window: window.error_share * 100), promise.forgiven * 100, " %"),
        page.line_chart("p95, ms", line(lambda window: window.p95), promise.p95_ms, " ms"),
    )


def _clock(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
