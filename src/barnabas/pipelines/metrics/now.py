"""`metrics --now`: requests to numbers by service and window; the same function for the stream and for a batch.

All of it is SQL expressions; no Python runs between the source and the sink. In Real-Time Mode each request gives its
window out anew, milliseconds after it came; the windows before the start are told by a batch beside it. By
micro-batches (--exactly-once, or where that mode cannot be had) a window is told once for each batch that changed it.
Either way the newest record of a key holds, so it does no harm when a window is told again after a crash.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.common import lateness
from barnabas.pipelines.common.upserts import keyed, upsert
from barnabas.pipelines.framework import RunContext, backlog, realtime
from barnabas.pipelines.metrics.answer import ALLOWED_MS, PERCENTILES, SIGNIFICANT_BITS, WINDOW_MS
from barnabas.pipelines.metrics.generator import TOPIC

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RESULTS = "service-metrics"
PARTITIONS = 1  # of each shuffle of the live query: every one is a task that runs all the time
SCHEMA = """id STRING NOT NULL, service STRING NOT NULL, path STRING, time TIMESTAMP NOT NULL, status INT NOT NULL,
            latency_us BIGINT NOT NULL"""


def start(context: RunContext) -> None:
    from pyspark.sql import functions as f

    key = f.concat_ws("|", "service", f.unix_seconds("window"))
    if not context.realtime:
        upsert(context, windows(context.stream(TOPIC)), RESULTS, "windows", key)
        return
    history = backlog.decided(context, WINDOW_MS + ALLOWED_MS + lateness.SKEW_MS, WINDOW_MS)
    time_ms = f.unix_millis("time")
    live = realtime.stream(context, TOPIC, history.since_ms - lateness.SKEW_MS)
    live = live.where(time_ms >= history.since_ms)
    realtime.to_topic(context, keyed(windows(live), key), RESULTS, PARTITIONS)

    def told_before() -> DataFrame:
        requests = context.batch(TOPIC).where((time_ms >= history.from_ms) & (time_ms < history.since_ms))
        return keyed(windows(requests), key)

    backlog.work_through_beside(context, history, told_before, RESULTS)


def counted(requests: DataFrame, allowed_ms: int = ALLOWED_MS) -> DataFrame:
    """The requests that count, each once, with their latency rounded."""
    kept = lateness.counting(requests, allowed_ms, "requests")
    if kept.isStreaming:
        kept = lateness.watermarked(kept, allowed_ms)
    return lateness.once_each(kept).withColumn("latency", rounded("latency_us"))


def windows(requests: DataFrame, window_ms: int = WINDOW_MS, allowed_ms: int = ALLOWED_MS) -> DataFrame:
    """service, window (its begin), requests, errors, rate, error_share, p50, p95, p99 (milliseconds)."""
    from pyspark.sql import functions as f

    groups = counted(requests, allowed_ms).groupBy("service", f.window("time", f"{window_ms} milliseconds"))
    return groups.agg(*measures()).select(
        "service",
        f.col("window.start").alias("window"),
        "requests",
        "errors",
        (f.col("requests") * 1000 / f.lit(window_ms)).alias("rate"),
        *derived(),
    )


def measures() -> list[Column]:
    from pyspark.sql import functions as f

    shares = f.array(*[f.lit(share) for share in PERCENTILES])
    return [
        f.count("*").alias("requests"),
        f.count_if(f.col("status") >= 500).alias("errors"),
        f.percentile("latency", shares).alias("latencies"),
    ]


def derived() -> list[Column]:
    from pyspark.sql import functions as f

    names = ("p50", "p95", "p99")
    latencies = [(f.col("latencies")[place] / 1000).alias(name) for place, name in enumerate(names)]
    return [(f.col("errors") / f.col("requests")).alias("error_share"), *latencies]


def rounded(column: str) -> Column:
    """To eight significant bits; `answer.rounded` says the same in Python."""
    from pyspark.sql import functions as f

    whole = f"greatest(0L, {column})"
    shift = f"greatest(0, length(bin({whole})) - {SIGNIFICANT_BITS})"
    return f.expr(f"shiftleft(shiftright({whole}, {shift}), {shift}) + shiftright(shiftleft(1L, {shift}), 1)")
