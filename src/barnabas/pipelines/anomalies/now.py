"""Readings to alerts in Spark, with state for each sensor (`transformWithState`)."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from barnabas.pipelines.anomalies.baseline import ALLOWED_MS, Rule
from barnabas.pipelines.anomalies.watch import Memory, watched
from barnabas.pipelines.common import lateness

ALERT = "sensor STRING, time_ms BIGINT, seq BIGINT, value DOUBLE, mean DOUBLE, deviation DOUBLE, score DOUBLE"


class Watch(StatefulProcessor):
    """Rows (time_ms, seq, milli) of one sensor in, alerts out."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._memory = handle.getValueState("memory", "text STRING")

    def handleInputRows(self, key: tuple[str, ...], rows: Iterator[Row], timerValues: TimerValues) -> Iterator[Row]:
        held = self._memory.get()
        memory = Memory.of(held[0] if held is not None else None)
        found = watched(memory, key[0], ((row["time_ms"], row["seq"], row["milli"]) for row in rows), self._rule)
        self._memory.update((memory.text(),))
        for alert in found:
            yield Row(
                sensor=alert.sensor,
                time_ms=alert.time_ms,
                seq=alert.seq,
                value=alert.value,
                mean=alert.mean,
                deviation=alert.deviation,
                score=alert.score,
            )

    def close(self) -> None:
        pass


def counted(readings: DataFrame) -> DataFrame:
    """sensor, time_ms, seq, milli of the readings that count."""
    return lateness.counting(readings, ALLOWED_MS, "readings").select(
        "sensor",
        f.unix_millis("time").alias("time_ms"),
        "seq",
        f.floor(f.col("value") * 1000 + 0.5).alias("milli"),
    )


def alerts(readings: DataFrame, rule: Rule) -> DataFrame:
    """sensor, time, seq, value, mean, deviation, score: each alert once, as soon as its reading is seen."""
    found = (
        counted(readings)
        .groupBy("sensor")
        .transformWithState(Watch(rule), outputStructType=ALERT, outputMode="Append", timeMode="None")
    )
    return found.select("sensor", f.timestamp_millis("time_ms").alias("time"), "seq", *VALUES)


VALUES = ("value", "mean", "deviation", "score")
