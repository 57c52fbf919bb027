"""The sink of `format("barnabas")`: a stream copied from topic to topic, at least once and exactly once.

Both deliveries run one after the other in every run, on the same Spark. The figure is rows over the time Spark says its
micro-batches took, without the first one, which starts Python workers and compiles the plan.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..clients import blast, create_topic, delete_topic, payloads, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

RECORDS, PARTITIONS, MICRO_BATCHES = 1_800_000, 4, 6
WAIT_S = 600


@dataclass(frozen=True, slots=True)
class SinkCase:
    size: int

    @property
    def label(self) -> str:
        return f"{'1 KiB' if self.size == 1024 else f'{self.size} B'}, {PARTITIONS} partitions"

    @property
    def records(self) -> int:
        return RECORDS if self.size == 100 else RECORDS // 3


class SparkSink(Workload[SinkCase]):
    name = "spark-sink"
    title = 'Spark: the sink of format("barnabas")'
    warm_up = 0.1
    measures = (
        Measure("plain_per_s", "at least once, records/s", "/s", Better.HIGHER, digits=0),
        Measure("exactly_once_per_s", "exactly once, records/s", "/s", Better.HIGHER, digits=0),
        Measure("share", "exactly once / at least once", "x", Better.HIGHER, value_goal=0.7, comparable=False),
    )

    def cases(self) -> Sequence[SinkCase]:
        return [SinkCase(100), SinkCase(1024)]

    def quick_cases(self) -> Sequence[SinkCase]:
        return [SinkCase(100)]

    def prepare(self, server: Server, case: SinkCase, options: Options) -> None:
        name = create_topic(server.bootstrap, PARTITIONS)
        self.state[server.name, case.label] = name
        blast(producer(server.bootstrap), name, payloads(case.size), options.count(case.records))

    def finish(self, server: Server) -> None:
        for (owner, _), name in self.state.items():
            if owner == server.name:
                delete_topic(server.bootstrap, name)

    def run(self, server: Server, case: SinkCase, options: Options) -> RunResult:
        from ..spark import bench_session

        spark = bench_session()
        source, records = self.state[server.name, case.label], options.count(case.records)
        meter = Meter(server)
        plain = self._copy(spark, server, source, records, "at-least-once")
        exact = self._copy(spark, server, source, records, "exactly-once")
        result = meter.stop(records=2 * records, record_bytes=case.size)
        return result | {"plain_per_s": plain, "exactly_once_per_s": exact, "share": exact / plain}

    @staticmethod
    def _copy(spark: Any, server: Server, source: str, records: int, delivery: str) -> float:
        """Rows a second. The source may hold more than `records` (a warm-up copies a part of it)."""
        checkpoint = tempfile.mkdtemp(prefix="barnabas-bench-")
        with topic(server.bootstrap, PARTITIONS) as sink:
            try:
                query = (
                    spark.readStream.format("barnabas")
                    .option("kafka.bootstrap.servers", server.bootstrap)
                    .option("subscribe", source)
                    .option("startingOffsets", "earliest")
                    .option("maxOffsetsPerTrigger", max(1, records // MICRO_BATCHES))
                    .load()
                    .select("key", "value")
                    .writeStream.format("barnabas")
                    .option("kafka.bootstrap.servers", server.bootstrap)
                    .option("topic", sink)
                    .option("delivery", delivery)
                    .option("checkpointLocation", checkpoint)
                    .trigger(availableNow=True)
                    .start()
                )
                if not query.awaitTermination(WAIT_S):
                    query.stop()
                    raise TimeoutError(f"the copy is not done after {WAIT_S} s")
                done = [each for each in query.recentProgress if each["numInputRows"]][1:]
            finally:
                shutil.rmtree(checkpoint, ignore_errors=True)
        spent_ms = sum(each["durationMs"]["triggerExecution"] for each in done)
        return float(1000 * sum(each["numInputRows"] for each in done) / spent_ms)
