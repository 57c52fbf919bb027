"""A topic of 1,000 partitions: to create it and write one record to each, and to describe it to a client."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient, NewTopic

from ..clients import delete_topic, producer, wait_for_leaders
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..stats import latency_summary
from ..wire import Connection, metadata_frame
from ..workload import RunResult, Workload

ANSWERS = 300


@dataclass(frozen=True, slots=True)
class PartitionsCase:
    partitions: int = 1000

    @property
    def label(self) -> str:
        return f"{self.partitions:,} partitions"


class Partitions(Workload[PartitionsCase]):
    name = "partitions"
    title = "A topic of 1,000 partitions"
    warm_up = 0
    measures = (
        Measure("total_s", "create, and one record to each", "s", Better.LOWER, ratio_goal=0.5, digits=3),
        Measure("create_s", "... of it, until all have a leader", "s", Better.LOWER, digits=3),
        Measure("metadata_p50_ms", "metadata answer, p50", "ms", Better.LOWER, value_goal=5),
        Measure("metadata_first_ms", "... the first one", "ms", Better.LOWER),
        Measure("delete_s", "delete", "s", Better.LOWER, digits=3),
    )

    def cases(self) -> Sequence[PartitionsCase]:
        return [PartitionsCase()]

    def run(self, server: Server, case: PartitionsCase, options: Options) -> RunResult:
        name, partitions = f"bench-{uuid.uuid4().hex[:12]}", case.partitions
        admin = AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0})
        meter = Meter(server)
        begin = time.perf_counter()
        admin.create_topics([NewTopic(name, partitions, 1)], operation_timeout=60)[name].result(120)
        wait_for_leaders(admin, name, partitions)
        created = time.perf_counter() - begin
        client = producer(server.bootstrap)
        begin = time.perf_counter()
        for partition in range(partitions):
            client.produce(name, b"x" * 100, partition=partition)
        if client.flush(120):
            raise TimeoutError("records are not acknowledged after 120 s")
        written = time.perf_counter() - begin
        result = meter.stop()
        answers = _metadata_ms(server, name)
        begin = time.perf_counter()
        delete_topic(server.bootstrap, name)
        return (
            result
            | latency_summary(answers, "metadata")
            | {
                "total_s": round(created + written, 4),
                "create_s": round(created, 4),
                "metadata_first_ms": round(answers[0], 3),
                "delete_s": round(time.perf_counter() - begin, 4),
            }
        )


def _metadata_ms(server: Server, name: str) -> list[float]:
    connection, asked = Connection(server.address), metadata_frame(name)
    took = []
    for _ in range(ANSWERS):
        begin = time.perf_counter()
        answer = connection.call(asked)
        took.append((time.perf_counter() - begin) * 1e3)
        if len(answer) < 1000 * 20:  # no partition is described in fewer bytes
            raise RuntimeError(f"a metadata answer of only {len(answer)} bytes")
    connection.close()
    return took
