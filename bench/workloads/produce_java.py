"""Produce with the Java client: Kafka's own performance tool, acks=all, the same sizes, partitions and compression."""

from __future__ import annotations

from collections.abc import Sequence

from .. import java
from ..clients import topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload
from .produce import ProduceCase, all_cases

RECORDS = {100: 2_000_000, 1024: 600_000}


class ProduceJava(Workload[ProduceCase]):
    name = "produce-java"
    title = "Produce, Java client"
    warm_up = 0  # every run is a new client JVM; the server is warm from the row before
    measures = (
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_million", "server CPU per million", "s", Better.LOWER, ratio_goal=0.6),
    )

    def cases(self) -> Sequence[ProduceCase]:
        return all_cases()

    def quick_cases(self) -> Sequence[ProduceCase]:
        return [ProduceCase(100, 1, "none"), ProduceCase(1024, 6, "lz4")]

    def run(self, server: Server, case: ProduceCase, options: Options) -> RunResult:
        records = options.count(RECORDS[case.size])
        with topic(server.bootstrap, case.partitions) as name:
            meter = Meter(server)
            got = java.produce(options.libs, server.bootstrap, name, records, case.size, case.compression)
            return meter.stop(records=records, record_bytes=case.size) | got
