"""Spark's own Kafka connector against both servers: the same Spark, the same jars, the same query."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..clients import blast, create_topic, delete_topic, payloads, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

READ = {100: 5_000_000, 1024: 1_000_000}
WRITE = {100: 2_000_000, 1024: 500_000}
PARTITIONS = 4


@dataclass(frozen=True, slots=True)
class ConnectorCase:
    reads: bool
    size: int

    @property
    def label(self) -> str:
        return f"{'read' if self.reads else 'write'} {'1 KiB' if self.size == 1024 else f'{self.size} B'}"


class SparkConnector(Workload[ConnectorCase]):
    name = "spark-connector"
    title = "Spark's own Kafka connector"
    warm_up = 0.1
    measures = (
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_million", "server CPU per million", "s", Better.LOWER),
    )

    def cases(self) -> Sequence[ConnectorCase]:
        return [ConnectorCase(reads, size) for reads in (True, False) for size in (100, 1024)]

    def quick_cases(self) -> Sequence[ConnectorCase]:
        return [ConnectorCase(True, 100), ConnectorCase(False, 100)]

    def prepare(self, server: Server, case: ConnectorCase, options: Options) -> None:
        if case.reads:
            name = create_topic(server.bootstrap, PARTITIONS)
            self.state[server.name, case.label] = name
            blast(producer(server.bootstrap), name, payloads(case.size), options.count(READ[case.size]))

    def finish(self, server: Server) -> None:
        for (owner, _), name in self.state.items():
            if owner == server.name:
                delete_topic(server.bootstrap, name)

    def run(self, server: Server, case: ConnectorCase, options: Options) -> RunResult:
        from ..spark import bench_session

        spark = bench_session()
        return self._read(spark, server, case, options) if case.reads else self._write(spark, server, case, options)

    def _read(self, spark: Any, server: Server, case: ConnectorCase, options: Options) -> RunResult:
        frame = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", server.bootstrap)
            .option("subscribe", self.state[server.name, case.label])
            .load()
        )
        meter = Meter(server)
        begin = time.perf_counter()
        rows, _ = frame.selectExpr("count(*)", "sum(length(value))").first()
        if rows < options.count(READ[case.size]):
            raise RuntimeError(f"{rows} rows were read")
        return meter.stop(records=rows, record_bytes=case.size, wall_s=time.perf_counter() - begin)

    @staticmethod
    def _write(spark: Any, server: Server, case: ConnectorCase, options: Options) -> RunResult:
        records = options.count(WRITE[case.size])
        values = [value.decode() for value in payloads(case.size)]
        words = ", ".join(f"'{value}'" for value in values[:50])
        frame = spark.range(0, records, 1, PARTITIONS).selectExpr(f"element_at(array({words}), int(id % 50) + 1) value")
        with topic(server.bootstrap, PARTITIONS) as name:
            meter = Meter(server)
            begin = time.perf_counter()
            frame.write.format("kafka").option("kafka.bootstrap.servers", server.bootstrap).option("topic", name).save()
            return meter.stop(records=records, record_bytes=case.size, wall_s=time.perf_counter() - begin)
