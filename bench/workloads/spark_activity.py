"""`barnabas pipeline run activity`: from a search produced to its recommendation consumed, and the rate it holds.

Events come at a fixed rate, 40 searches to 60 views and one job a second, on 150 open jobs: about one recommendation
for each event. A rate is held when for 60 s the recommendations keep coming within a second of the search in 99 of 100
cases. The pipeline runs in Real-Time Mode, at least once; a row beside it is --exactly-once, by micro-batches.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..live_pipeline import LivePipeline, keep_producing, ms
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..stats import percentile
from ..workload import RunResult, Workload

OPEN_JOBS = 150
SETTLE_S = 15.0  # after the first result, before the time is taken: Java compiles what is hot
TIMED_S = 120.0  # as long as a batch, so that the pause between two is in it
HELD_S = 60.0
HELD_P99_MS = 1_000.0
LADDER = (1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 8_000, 12_000)


@dataclass(frozen=True, slots=True)
class ActivityCase:
    rate: int
    seconds: float
    climb: bool = False
    exactly_once: bool = False

    @property
    def label(self) -> str:
        if self.climb:
            return "the highest rate held for 60 s"
        return f"{self.rate:,} events/s" + (", exactly once" if self.exactly_once else "")


class SparkActivity(Workload[ActivityCase]):
    name = "spark-activity"
    title = "Spark: activity --now, from search to recommendation"
    warm_up = 0.0
    measures = (
        Measure(
            "p50_ms", "search produced to recommendation consumed, p50", "ms", Better.LOWER, value_goal=60, digits=0
        ),
        Measure("p99_ms", "the same, p99", "ms", Better.LOWER, value_goal=300, digits=0),
        Measure("first_s", "from `pipeline run` to the first result", "s", Better.LOWER, digits=1),
        Measure("spark_s", "of which Spark's own start", "s", Better.LOWER, digits=1, comparable=False),
    )
    by_micro_batches = (
        Measure("p50_ms", measures[0].label, "ms", Better.LOWER, value_goal=1000, digits=0),
        Measure("p99_ms", "the same, p99", "ms", Better.LOWER, digits=0),
        *measures[2:],
    )
    held = (Measure("held_per_s", "events/s held for 60 s", "/s", Better.HIGHER, value_goal=5000, digits=0),)

    def cases(self) -> Sequence[ActivityCase]:
        plain = ActivityCase(1_000, TIMED_S)
        return [plain, ActivityCase(1_000, HELD_S, climb=True), replace(plain, exactly_once=True)]

    def quick_cases(self) -> Sequence[ActivityCase]:
        return [ActivityCase(1_000, 20.0)]

    def measures_of(self, case: ActivityCase) -> Sequence[Measure]:
        if case.climb:
            return self.held
        return self.by_micro_batches if case.exactly_once else self.measures

    def run(self, server: Server, case: ActivityCase, options: Options) -> RunResult:
        with activity(server, case.exactly_once) as pipeline:
            meter = Meter(server)
            first_s = pipeline.await_first()
            if case.climb:
                pipeline.delays(2 * SETTLE_S)
                held = 0.0
                for rate in LADDER:
                    pipeline.change(rate)
                    delays = pipeline.delays(HELD_S)
                    if not delays or percentile(delays, 0.99) > HELD_P99_MS:
                        break
                    held = float(rate)
                return meter.stop(records=pipeline.count, record_bytes=250) | {"held_per_s": held}
            pipeline.delays(SETTLE_S)
            delays = pipeline.delays(options.seconds(case.seconds))
            found = {"p50_ms": percentile(delays, 0.5), "p99_ms": percentile(delays, 0.99)}
            found |= {"first_s": first_s, "spark_s": pipeline.spark_s()}
            return meter.stop(records=pipeline.count, record_bytes=250) | found


def activity(server: Server, exactly_once: bool = False) -> LivePipeline:
    from barnabas.pipelines.activity import PIPELINE, RECOMMENDATIONS

    return LivePipeline(server, PIPELINE, RECOMMENDATIONS, produce, searched_ms, exactly_once)


def searched_ms(value: dict[str, Any]) -> float | None:
    """When it was searched, of a recommendation whose job was there before the search."""
    if value["because"] == "search" and value["posted"] <= value["time"]:
        return ms(value["time"])
    return None


def produce(bootstrap: str, topics: dict[str, str], rate: Any) -> None:
    """Runs in a process of its own until it is ended. Cheap events, so that it takes little from the others."""
    from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS, Activity
    from barnabas.pipelines.activity.town import Town
    from barnabas.pipelines.framework import records

    town, chance = Town(7), random.Random(7)
    generator = Activity(7, town)
    now_ms = int(time.time() * 1000)
    records.write(bootstrap, generator.opening_jobs(now_ms - 3_600_000, now_ms, OPEN_JOBS), topics.__getitem__)
    jobs = generator.opening_jobs(0, 0, 1_000_000)
    next_job = now_ms + 1_000

    def each(producer: Any, number: int, at_ms: int, at: str) -> None:
        nonlocal next_job
        member = int(chance.random() * 20_000)
        if number % 5 < 2:
            told = f'"field":"{town.pick_field(chance)}","city":"{town.pick_city(chance)}","found":5'
            topic = topics[SEARCHES]
        else:
            told, topic = f'"company":"{town.pick_company(chance)}"', topics[VIEWS]
        producer.produce(topic, f'{{"id":"e-{number}","member":{member},{told},"time":"{at}"}}', str(member))
        if at_ms >= next_job:
            next_job += 1_000
            job = next(jobs)
            producer.produce(topics[JOBS], json.dumps({**job.value, "id": f"j-{number}", "time": at}), job.key)

    keep_producing(bootstrap, rate, each)
