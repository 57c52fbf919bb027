"""`anomalies`: sensors that stop being themselves, told as it happens; and which threshold would have been best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.pipelines.anomalies import generator
from barnabas.pipelines.anomalies.baseline import ALLOWED_MS, KEEP_MS, Rule
from barnabas.pipelines.anomalies.schema import ALERTS, INCIDENT, READING
from barnabas.pipelines.common.numbers import positive
from barnabas.pipelines.framework import Option, Outcome, Pipeline, Record, Topic, backlog
from barnabas.pipelines.framework.realtime import BATCH

if TYPE_CHECKING:
    from barnabas.pipelines.framework import RunContext


class Anomalies(Pipeline):
    name = "anomalies"
    summary = "sensors whose readings are not normal"
    now_summary = "each sensor's running mean and deviation; a reading too far off is an alert, as it happens"
    later_summary = "other thresholds tried on history, against the log of incidents"
    reads = (
        Topic(generator.READINGS, schema=READING),
        Topic(generator.INCIDENTS, partitions=1, schema=INCIDENT, streamed=False),
    )
    writes = (Topic(ALERTS),)
    options = (
        Option("threshold", str(Rule().threshold), "how many deviations off makes an alert"),
        Option("thresholds", "3,4,5,6,8,10", "the thresholds that the back-test tries"),
        backlog.OPTION,
        BATCH,
    )
    realtime = 2  # one that knows readings that came before, one that keeps the sums

    def now(self, context: RunContext) -> None:
        from barnabas.pipelines.anomalies.now import start

        start(context, Rule(positive(context, "threshold")))

    def later(self, context: RunContext) -> Outcome:
        from pyspark.sql import functions as f

        from barnabas.pipelines.anomalies import history, later
        from barnabas.pipelines.common import lateness

        live = positive(context, "threshold")
        thresholds = later.thresholds_of(context.option("thresholds"))
        readings = context.batch(generator.READINGS, earlier_ms=KEEP_MS).cache()  # the first one needs its baseline
        incidents = context.within(context.batch(generator.INCIDENTS), "begin").cache()
        scored = history.scores(readings, Rule(live)).withColumn("time", f.timestamp_millis("time_ms"))
        scored = context.within(scored, "time").cache()
        try:
            tried = history.back_test(scored, incidents, thresholds)
            count = scored.count()
            too_late = context.within(readings.where(~lateness.in_time(ALLOWED_MS)), "time").count()
        finally:
            for each in (scored, incidents, readings):
                each.unpersist()
        place = context.path("back-test.html")
        place.write_text(later.report(tried, live, too_late))
        numbers = {"readings": count, "too_late": too_late, "incidents": tried[0].incidents}
        return Outcome(later.lines(tried, live), {"report": place}, numbers)

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        return generator.generate(seed, begin_ms, rate)

    def tell(self, topic: str, value: Mapping[str, object]) -> str:
        score = value.get("score")
        off = f"{score:+.1f} deviations" if isinstance(score, float) else ""
        return f"{value.get('sensor')} reads {value.get('value')}, usually {value.get('mean')}: {off}"


PIPELINE = Anomalies()
