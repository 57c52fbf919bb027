"""`anomalies --now`: readings to alerts, by a live query or by micro-batches.

The live query (live.py, Real-Time Mode) tells an alert milliseconds after its reading, at least once; the readings
before the start are judged by a batch beside it. With --exactly-once, or where that mode cannot be had, Python judges
them in micro-batches with state for each sensor (`transformWithState`).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from barnabas.pipelines.anomalies import history
from barnabas.pipelines.anomalies.baseline import KEEP_MS, Rule
from barnabas.pipelines.anomalies.generator import READINGS
from barnabas.pipelines.anomalies.live import PARTITIONS, alerts_live
from barnabas.pipelines.anomalies.readings import VALUES, counted
from barnabas.pipelines.anomalies.schema import ALERTS
from barnabas.pipelines.anomalies.watch import Memory, watched
from barnabas.pipelines.framework import RunContext, backlog, realtime
from barnabas.pipelines.framework.decoding import as_json

ALERT = "sensor STRING, time_ms BIGINT, seq BIGINT, value DOUBLE, mean DOUBLE, deviation DOUBLE, score DOUBLE"


def start(context: RunContext, rule: Rule) -> None:
    if not context.realtime:
        context.to_topic(as_json(alerts(context.stream(READINGS), rule), "sensor"), ALERTS, "alerts")
        return
    past = backlog.decided(context, KEEP_MS)
    readings = realtime.stream(context, READINGS, past.since_ms - KEEP_MS)
    realtime.to_topic(context, as_json(alerts_live(readings, rule, past.since_ms), "sensor"), ALERTS, PARTITIONS)

    def told_before() -> DataFrame:
        time_ms = f.unix_millis("time")
        found = history.alerts(context.batch(READINGS, earlier_ms=KEEP_MS), rule)
        return as_json(found.where((time_ms >= past.from_ms) & (time_ms < past.since_ms)), "sensor")

    backlog.work_through_beside(context, past, told_before, ALERTS)


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


def alerts(readings: DataFrame, rule: Rule) -> DataFrame:
    """sensor, time, seq, value, mean, deviation, score: each alert once, as soon as its reading is seen."""
    found = (
        counted(readings)
        .groupBy("sensor")
        .transformWithState(Watch(rule), outputStructType=ALERT, outputMode="Append", timeMode="None")
    )
    return found.select("sensor", f.timestamp_millis("time_ms").alias("time"), "seq", *VALUES)
