"""The same judgement over history, in Spark's SQL: no state, no Python, a second way to the same alerts.

Each bucket's baseline is a sum over the buckets before it (a window by range); each reading takes the baseline of its
bucket. On top of that the back-test: what other thresholds would have said, measured by the plant's own incident log.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from barnabas.pipelines.anomalies.answer import Tried
from barnabas.pipelines.anomalies.baseline import BUCKET_MS, LAG_MS, LEAST_READINGS, SPAN_MS, Rule
from barnabas.pipelines.anomalies.readings import VALUES, counted


def scores(readings: DataFrame, rule: Rule) -> DataFrame:
    """sensor, time_ms, seq, value, mean, deviation, score of each reading that has a baseline."""
    each = (
        counted(readings)
        .dropDuplicates(["sensor", "time_ms", "seq"])
        .withColumn("bucket", f.col("time_ms") - f.pmod("time_ms", f.lit(BUCKET_MS)))
    )
    exact = f.col("milli").cast("decimal(19,0)")
    buckets = each.groupBy("sensor", "bucket").agg(
        f.count("*").alias("n"), f.sum(exact).alias("x"), f.sum((exact * exact).cast("decimal(38,0)")).alias("xx")
    )
    before = Window.partitionBy("sensor").orderBy("bucket").rangeBetween(-LAG_MS - SPAN_MS, -LAG_MS - BUCKET_MS)
    baselines = buckets.select("sensor", "bucket", *[f.sum(name).over(before).alias(name) for name in ("n", "x", "xx")])
    return scored(each.join(baselines, ["sensor", "bucket"]), rule)


def scored(readings: DataFrame, rule: Rule) -> DataFrame:
    """The same of readings (sensor, time_ms, seq, milli) with the sums of their baseline (n, x, xx)."""
    known = readings.where(f.col("n") >= LEAST_READINGS)
    count, double = f.col("n").cast("double"), "double"
    mean = f.col("x").cast(double) / count
    exactly = f.col("n").cast("decimal(10,0)")
    spread = (exactly * f.col("xx") - f.col("x") * f.col("x")).cast(double)
    deviation = f.greatest(f.sqrt(spread / (count * (count - 1))), f.lit(float(rule.least)))
    known = known.withColumns({"mean": mean, "deviation": deviation})
    known = known.withColumn("score", (f.col("milli").cast(double) - f.col("mean")) / f.col("deviation"))
    shown: list[Column] = [
        (f.col("milli") / 1000).alias("value"),
        (f.col("mean") / 1000).alias("mean"),
        (f.col("deviation") / 1000).alias("deviation"),
        f.col("score"),
    ]
    return known.select("sensor", "time_ms", "seq", *shown)


def alerts(readings: DataFrame, rule: Rule) -> DataFrame:
    """What the stream should have said."""
    return alerts_of(scores(readings, rule), rule)


def alerts_of(scored: DataFrame, rule: Rule) -> DataFrame:
    loud = scored.where(f.abs("score") >= rule.threshold)
    return loud.select("sensor", f.timestamp_millis("time_ms").alias("time"), "seq", *VALUES)


def back_test(scored: DataFrame, incidents: DataFrame, thresholds: Sequence[float]) -> list[Tried]:
    """Each threshold against the incidents (sensor, begin, end), on what `scores` gave."""
    known = incidents.select(
        "sensor", f.unix_millis("begin").alias("begin_ms"), f.unix_millis("end").alias("end_ms")
    ).distinct()
    loudness = scored.select("sensor", "time_ms", "seq", f.abs("score").alias("loud"))
    inside = loudness.join(f.broadcast(known), "sensor").where("time_ms >= begin_ms AND time_ms < end_ms")
    hits = inside.select("sensor", "time_ms", "seq").distinct().withColumn("hit", f.lit(True))
    flagged = loudness.join(hits, ["sensor", "time_ms", "seq"], "left")
    alerts_row = flagged.agg(
        *[f.count_if(f.col("loud") >= at).alias(f"a{place}") for place, at in enumerate(thresholds)],
        *[f.count_if((f.col("loud") >= at) & f.col("hit")).alias(f"t{place}") for place, at in enumerate(thresholds)],
    ).collect()[0]
    loudest = inside.groupBy("sensor", "begin_ms", "end_ms").agg(f.max("loud").alias("loud"))
    seen_row = loudest.agg(
        *[f.count_if(f.col("loud") >= at).alias(f"s{place}") for place, at in enumerate(thresholds)]
    ).collect()[0]
    total = known.count()
    return [
        Tried(at, alerts_row[f"a{place}"], alerts_row[f"t{place}"], total, seen_row[f"s{place}"])
        for place, at in enumerate(thresholds)
    ]
