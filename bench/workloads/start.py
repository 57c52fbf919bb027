"""A fresh node: the time to its first acknowledged record, its memory when idle and after a load.

The time runs from the command on an empty folder, so Kafka's includes formatting it, which Kafka demands before a
first start; the part is shown on its own.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..clients import blast, payloads, producer
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..processes import memory_mb
from ..servers import Server
from ..wire import Connection, record_batch
from ..workload import RunResult, Workload

LOAD = ((100, 2_000_000), (1024, 700_000))
IDLE_S = 3.0


@dataclass(frozen=True, slots=True)
class StartCase:
    label: str = "fresh node"


class Start(Workload[StartCase]):
    name = "start"
    title = "Start and memory"
    warm_up = 0
    measures = (
        Measure(
            "first_produce_s", "start to first produce", "s", Better.LOWER, ratio_goal=0.1, value_goal=0.5, digits=3
        ),
        Measure("format_s", "... of it, formatting the folder", "s", Better.LOWER, digits=3),
        Measure("idle_rss_mb", "memory, idle", "MB", Better.LOWER, value_goal=64, digits=0),
        Measure("idle_rss_anon_mb", "... of it, not mapped files", "MB", Better.LOWER, digits=0),
        Measure("loaded_rss_mb", "memory after the load", "MB", Better.LOWER, value_goal=128, digits=0),
        Measure("loaded_rss_anon_mb", "... of it, not mapped files", "MB", Better.LOWER, digits=0),
        Measure("stop_s", "clean stop", "s", Better.LOWER, digits=3),
    )

    def cases(self) -> Sequence[StartCase]:
        return [StartCase()]

    def run(self, server: Server, case: StartCase, options: Options) -> RunResult:
        fresh = server.sibling()
        try:
            meter = Meter(server)  # the other one, which is idle: only to see whether strangers disturb
            begin = time.perf_counter()
            fresh.start()
            formatted = time.perf_counter() - begin
            connection = fresh.wait_ready()
            first_produce(connection, "bench-first", create=True)
            produced = time.perf_counter() - begin
            connection.close()
            time.sleep(IDLE_S)
            idle = memory_mb(fresh.pid)
            client = producer(fresh.bootstrap)
            for size, records in LOAD:
                blast(client, "bench-first", payloads(size), options.count(records))
            loaded = memory_mb(fresh.pid)
            others = meter.others_cores()
            stopping = time.perf_counter()
            fresh.stop()
            result: RunResult = {
                "other_cores": others,
                "first_produce_s": round(produced, 4),
                "format_s": round(formatted, 4),
                "stop_s": round(time.perf_counter() - stopping, 4),
            }
            result |= {f"idle_{key}": value for key, value in idle.items()}
            return result | {f"loaded_{key}": value for key, value in loaded.items()}
        finally:
            fresh.remove()


def first_produce(connection: Connection, topic: str, *, create: bool, patience_s: float = 120) -> None:
    """Until the server has acknowledged one record: a node that is just up may still answer with errors."""
    batch = record_batch([b"x" * 100])
    end = time.monotonic() + patience_s
    while create and connection.create_topic(topic):
        if time.monotonic() > end:
            raise TimeoutError(f"no topic after {patience_s:.0f} s")
        time.sleep(0.01)
    while connection.produce(topic, batch):
        if time.monotonic() > end:
            raise TimeoutError(f"no acknowledged record after {patience_s:.0f} s")
        time.sleep(0.005)
