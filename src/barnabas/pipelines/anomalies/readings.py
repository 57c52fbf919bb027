"""Readings as every way of judging them takes them, and an alert's columns."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from barnabas.pipelines.anomalies.baseline import ALLOWED_MS
from barnabas.pipelines.common import lateness

VALUES = ("value", "mean", "deviation", "score")


def counted(readings: DataFrame) -> DataFrame:
    """sensor, time_ms, seq, milli of the readings that count."""
    return lateness.counting(readings, ALLOWED_MS, "readings").select(
        "sensor",
        f.unix_millis("time").alias("time_ms"),
        "seq",
        in_thousandths().alias("milli"),
    )


def in_thousandths() -> Column:
    """As `baseline.thousandths` has it."""
    return f.floor(f.col("value") * 1000 + 0.5)
