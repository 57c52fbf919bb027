"""Readings to alerts in milliseconds: the judgement of watch.py by one aggregation instead of Python.

Spark's Real-Time Mode hands each record through a query as it comes, but takes no Python. An aggregation it takes: it
adds one row to its group and gives the group out, once for each row. So a reading does not look back at the buckets
that say what is normal; it is added, when it comes, to every bucket that will be judged by it, and to its own bucket it
is sent to be judged. That is a row for each bucket of the span, and one more: the reason why buckets are no finer.

What a reading is judged by is complete when it comes (baseline.py), so the order in which rows meet does not matter.
An alert is told at least once: a reading that is read again after a crash is judged again, with the same result, and
sensor, time and `seq` say that it is the same. A group is forgotten when the watermark has passed its bucket.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from barnabas.pipelines.anomalies import history
from barnabas.pipelines.anomalies.baseline import ALLOWED_MS, BUCKET_MS, LAG_MS, SPAN_MS, Rule
from barnabas.pipelines.anomalies.readings import in_thousandths
from barnabas.pipelines.common import lateness

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PARTITIONS = 1  # of each shuffle: every one is a task that runs all the time


def alerts_live(readings: DataFrame, rule: Rule, since_ms: int) -> DataFrame:
    """The columns of `now.alerts`, for the readings of `since_ms` and later; those before only say what is normal."""
    kept = lateness.watermarked(lateness.counting(readings, ALLOWED_MS, "readings"), ALLOWED_MS)
    once = kept.dropDuplicates(["sensor", "seq", "time"])
    return history.alerts_of(history.scored(_summed(_sent(once, since_ms)), rule), rule)


def _sent(readings: DataFrame, since_ms: int) -> DataFrame:
    """Each reading once for each bucket that is judged by it, and once to be judged."""
    time_ms, milli = f.unix_millis("time"), in_thousandths()
    own = time_ms - f.pmod(time_ms, f.lit(BUCKET_MS))
    later = f.sequence(own + LAG_MS + BUCKET_MS, own + LAG_MS + SPAN_MS, f.lit(BUCKET_MS).cast("bigint"))
    here = f.when(time_ms >= since_ms, f.array(own)).otherwise(f.array().cast("array<bigint>"))
    reading = f.struct(time_ms.alias("time_ms"), "seq", milli.alias("milli"))
    sent = readings.select("sensor", reading.alias("reading"), f.explode(f.concat(here, later)).alias("bucket"))
    return sent.select(
        "sensor", "bucket", _until(), "reading",
        (f.col("bucket") == _bucket_of("reading.time_ms")).alias("judged"),
    )  # fmt: skip


def _until() -> Column:
    """The end of the bucket, by which Spark knows when a group may be forgotten."""
    return lateness.as_event_time(f.timestamp_millis(f.col("bucket") + BUCKET_MS), ALLOWED_MS, "until")


def _bucket_of(time_ms: str) -> Column:
    return f.col(time_ms) - f.pmod(f.col(time_ms), f.lit(BUCKET_MS))


def _summed(sent: DataFrame) -> DataFrame:
    """After each row: the sums of its bucket, and the reading if it is to be judged."""
    exact = f.col("reading.milli").cast("decimal(19,0)")
    adds = ~f.col("judged")
    groups = sent.groupBy("sensor", "until").agg(
        f.count_if(adds).alias("n"),
        f.sum(f.when(adds, exact)).alias("x"),
        f.sum(f.when(adds, (exact * exact).cast("decimal(38,0)"))).alias("xx"),
        f.last(f.when(f.col("judged"), f.col("reading"))).alias("reading"),
    )
    return groups.where(f.col("reading").isNotNull()).select("sensor", "reading.*", "n", "x", "xx")
