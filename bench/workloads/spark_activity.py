"""`barnabas pipeline run activity`: from a search produced to its recommendation consumed, and the rate it holds.

The pipeline runs as a person runs it, in a process of its own. Another process produces events at a fixed rate, 40
searches to 60 views and one job a second, on 150 open jobs: about one recommendation for each event. This process
consumes the recommendations (read_committed) and takes the time. A rate is held when for 60 s the recommendations keep
coming within a second of the search in 99 of 100 cases. Everything shares the machine's cores. The pipeline runs in
Real-Time Mode, at least once; a row beside it is --exactly-once, by micro-batches.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..clients import delete_topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..stats import percentile
from ..workload import RunResult, Workload

OPEN_JOBS = 150
SETTLE_S = 15.0  # after the first result, before the time is taken: Java compiles what is hot
HELD_S = 60.0
HELD_P99_MS = 1_000.0
WAITED_MS = 5_000.0  # for what was searched and is not answered when a stretch ends
LADDER = (500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000)
START_S = 300.0


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
        plain = ActivityCase(1_000, 60.0)
        return [plain, ActivityCase(1_000, HELD_S, climb=True), replace(plain, exactly_once=True)]

    def quick_cases(self) -> Sequence[ActivityCase]:
        return [ActivityCase(1_000, 20.0)]

    def measures_of(self, case: ActivityCase) -> Sequence[Measure]:
        if case.climb:
            return self.held
        return self.by_micro_batches if case.exactly_once else self.measures

    def run(self, server: Server, case: ActivityCase, options: Options) -> RunResult:
        with Pipeline(server, case.exactly_once) as pipeline:
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


class Pipeline:
    """The pipeline on topics of its own, and the two that produce and consume around it."""

    def __init__(self, server: Server, exactly_once: bool) -> None:
        from barnabas.pipelines.activity import PIPELINE, RECOMMENDATIONS
        from barnabas.pipelines.framework import topics

        self.bootstrap, self.count, self._exactly_once = server.bootstrap, 0, exactly_once
        mark = uuid.uuid4().hex[:8]
        self.topics = {each.name: f"{each.name}-{mark}" for each in (*PIPELINE.reads, *PIPELINE.writes)}
        self.home = Path(tempfile.mkdtemp(prefix="barnabas-bench-"))
        topics.prepare(
            self.bootstrap, PIPELINE, lambda name: self.topics.get(name, f"{name}-{mark}"), make_inputs=True, now=True
        )
        self.dead = [f"{self.topics[each.name]}.dead-letter" for each in PIPELINE.reads if each.streamed]
        self._sink = self.topics[RECOMMENDATIONS]
        spawn = multiprocessing.get_context("spawn")
        self._rate = spawn.Value("d", 1_000.0)
        self._producer = spawn.Process(target=produce, args=(self.bootstrap, self.topics, self._rate), daemon=True)
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = 0.0
        self._first_ms = 0.0

    def __enter__(self) -> Pipeline:
        self._consumer = _consumer(self.bootstrap, self._sink)
        self._producer.start()
        words = [sys.executable, "-m", "barnabas.cli.main", "pipeline", "run", "activity", "--quiet"]
        words += ["-b", self.bootstrap, "--data", str(self.home)]
        for usual, ours in self.topics.items():
            words += ["--topic", f"{usual}={ours}"]
        words += ["--exactly-once"] if self._exactly_once else []
        self._begun = time.time()
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_: object) -> None:
        self._producer.terminate()
        self._producer.join(10)
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._consumer.close()
        for name in (*self.topics.values(), *self.dead):
            with suppress(Exception):
                delete_topic(self.bootstrap, name)
        shutil.rmtree(self.home, ignore_errors=True)

    def await_first(self) -> float:
        """Seconds from the start of the command to the first recommendation in a consumer's hands."""
        deadline = time.time() + START_S
        while time.time() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                raise RuntimeError(f"the pipeline left with {self._process.returncode}")
            if self._take(0.1):
                return time.time() - self._begun
        raise TimeoutError(f"no recommendation in {START_S:.0f} s")

    def change(self, rate: float) -> None:
        self._rate.value = rate

    def spark_s(self) -> float:
        return float(json.loads((self.home / "activity" / "now.json").read_text())["spark_s"])

    def delays(self, seconds: float) -> list[float]:
        """Milliseconds from search to recommendation, sorted, for the searches of this stretch. What was searched in
        it and has not been answered when it ends is waited for as long as a held rate allows."""
        begin_ms = time.time() * 1000
        end_ms = begin_ms + seconds * 1000
        found = []
        while time.time() * 1000 < end_ms + WAITED_MS:
            for searched_ms, arrived_ms in self._take(0.05):
                if begin_ms <= searched_ms < end_ms:
                    found.append(arrived_ms - searched_ms)
            if found and time.time() * 1000 > end_ms + 2 * max(found):
                break
        return sorted(found)

    def _take(self, wait_s: float) -> list[tuple[float, float]]:
        """When it was searched and when it was consumed, of recommendations whose job was there before the search."""
        taken = []
        for message in self._consumer.consume(5_000, wait_s):
            if message.error() is not None:
                continue
            now_ms = time.time() * 1000
            value = json.loads(message.value())
            self.count += 1
            if value["because"] == "search" and value["posted"] <= value["time"]:
                taken.append((_ms(value["time"]), now_ms))
        return taken


def _ms(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp() * 1000


def _consumer(bootstrap: str, name: str) -> Any:
    from confluent_kafka import Consumer

    settings = {"bootstrap.servers": bootstrap, "group.id": f"bench-{name}", "auto.offset.reset": "earliest"}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "fetch.wait.max.ms": 20})
    consumer.subscribe([name])
    return consumer


def produce(bootstrap: str, topics: dict[str, str], rate: Any) -> None:
    """Runs in a process of its own until it is ended. Cheap events, so that it takes little from the others."""
    from confluent_kafka import Producer

    from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS, Activity
    from barnabas.pipelines.activity.town import Town
    from barnabas.pipelines.common.disorder import iso
    from barnabas.pipelines.framework import records

    town, chance = Town(7), random.Random(7)
    activity = Activity(7, town)
    now_ms = int(time.time() * 1000)
    records.write(bootstrap, activity.opening_jobs(now_ms - 3_600_000, now_ms, OPEN_JOBS), topics.__getitem__)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 2})
    jobs = activity.opening_jobs(0, 0, 1_000_000)
    count, last, owed, next_job = 0, time.monotonic(), 0.0, time.monotonic() + 1
    while True:
        now = time.monotonic()
        owed += (now - last) * rate.value
        last = now
        at_ms = int(time.time() * 1000)
        at = iso(at_ms)
        while owed >= 1:
            owed -= 1
            count += 1
            member = int(chance.random() * 20_000)
            if count % 5 < 2:
                told = f'"field":"{town.pick_field(chance)}","city":"{town.pick_city(chance)}","found":5'
                topic = topics[SEARCHES]
            else:
                told, topic = f'"company":"{town.pick_company(chance)}"', topics[VIEWS]
            producer.produce(topic, f'{{"id":"e-{count}","member":{member},{told},"time":"{at}"}}', str(member))
        if now >= next_job:
            next_job += 1
            job = next(jobs)
            value = json.dumps({**job.value, "id": f"j-{count}", "time": at})
            producer.produce(topics[JOBS], value, job.key)
        producer.poll(0)
        time.sleep(0.005)
