"""Produce as fast as librdkafka can, acks=all: value size x partitions x compression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import memory
from ..clients import blast, payloads, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

RECORDS = {100: 3_000_000, 1024: 800_000}


@dataclass(frozen=True, slots=True)
class ProduceCase:
    size: int
    partitions: int
    compression: str

    @property
    def label(self) -> str:
        size = "1 KiB" if self.size == 1024 else f"{self.size} B"
        return f"{size}, {self.partitions} partition{'s' if self.partitions > 1 else ''}, {self.compression}"


def all_cases() -> list[ProduceCase]:
    return [ProduceCase(s, p, c) for s in (100, 1024) for p in (1, 6) for c in ("none", "lz4")]


class Produce(Workload[ProduceCase]):
    name = "produce"
    title = "Produce, librdkafka"
    measures = (
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_million", "server CPU per million", "s", Better.LOWER, ratio_goal=0.6),
    )

    def cases(self) -> Sequence[ProduceCase]:
        return all_cases()

    def quick_cases(self) -> Sequence[ProduceCase]:
        return [ProduceCase(100, 1, "none"), ProduceCase(1024, 6, "none"), ProduceCase(1024, 1, "lz4")]

    def run(self, server: Server, case: ProduceCase, options: Options) -> RunResult:
        records = options.count(RECORDS[case.size])
        with topic(server.bootstrap, case.partitions) as name:
            client = producer(server.bootstrap, compression_type=case.compression)
            client.list_topics(name, timeout=10)
            values = payloads(case.size)
            memory.use_once(records * case.size)
            meter = Meter(server)
            blast(client, name, values, records)
            return meter.stop(records=records, record_bytes=case.size)
