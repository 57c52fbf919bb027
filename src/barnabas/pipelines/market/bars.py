"""Bars in Spark's SQL: the same function for the stream, where a late trade amends a bar, and for a batch."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from barnabas.pipelines.common import lateness
from barnabas.pipelines.market.schema import ALLOWED_MS, BAR_MS, TICKS

COLUMNS = ("symbol", "bar", "open", "high", "low", "close", "volume", "trades", "vwap")


def counted(trades: DataFrame) -> DataFrame:
    """The trades that count, each once."""
    kept = lateness.counting(trades, ALLOWED_MS, "trades")
    if kept.isStreaming:
        kept = lateness.watermarked(kept, ALLOWED_MS)
    return lateness.once_each(kept)


def bars(trades: DataFrame, bar_ms: int = BAR_MS) -> DataFrame:
    """symbol, bar (its begin), open, high, low, close, volume, trades, vwap."""
    order = f.struct("time", "id")
    notional = f.sum((f.col("price") * TICKS).cast("decimal(20,0)") * f.col("size").cast("decimal(18,0)"))
    grouped = counted(trades).groupBy("symbol", f.window("time", f"{bar_ms} milliseconds"))
    found = grouped.agg(
        f.min_by("price", order).alias("open"),
        f.max("price").alias("high"),
        f.min("price").alias("low"),
        f.max_by("price", order).alias("close"),
        f.sum("size").alias("volume"),
        f.count("*").alias("trades"),
        notional.cast("double").alias("notional"),
    )
    average = f.try_divide(f.col("notional") / TICKS, f.col("volume").cast("double"))
    vwap = f.coalesce(average, f.lit(0.0))  # a minute of trades of nothing has no average
    return found.withColumn("vwap", vwap).withColumn("bar", f.col("window.start")).select(*COLUMNS)
