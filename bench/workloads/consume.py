"""Consume a filled topic from its beginning, by one group and by four at once, each consumer a process of its own."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..clients import blast, consumer, create_topic, delete_topic, new_group, payloads, producer
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

RECORDS = {100: 2_500_000, 1024: 800_000}


@dataclass(frozen=True, slots=True)
class ConsumeCase:
    size: int
    groups: int

    @property
    def label(self) -> str:
        size = "1 KiB" if self.size == 1024 else f"{self.size} B"
        return f"{size}, {self.groups} group{'s' if self.groups > 1 else ''}"


class Consume(Workload[ConsumeCase]):
    name = "consume"
    title = "Consume, librdkafka"
    measures = (
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_gb", "server CPU per GB", "s", Better.LOWER, ratio_goal=1.0),
    )

    def cases(self) -> Sequence[ConsumeCase]:
        return [ConsumeCase(size, groups) for size in (1024, 100) for groups in (1, 4)]

    def quick_cases(self) -> Sequence[ConsumeCase]:
        return [ConsumeCase(1024, 1), ConsumeCase(1024, 4)]

    def prepare(self, server: Server, case: ConsumeCase, options: Options) -> None:
        key = (server.name, str(case.size))
        if key not in self.state:
            self.state[key] = create_topic(server.bootstrap)
            blast(producer(server.bootstrap), self.state[key], payloads(case.size), options.count(RECORDS[case.size]))

    def finish(self, server: Server) -> None:
        for (owner, _), name in self.state.items():
            if owner == server.name:
                delete_topic(server.bootstrap, name)

    def run(self, server: Server, case: ConsumeCase, options: Options) -> RunResult:
        name = self.state[server.name, str(case.size)]
        records = options.count(RECORDS[case.size])
        return read_topic(server, server.bootstrap, {}, name, records, case.size, case.groups)


def read_topic(
    server: Server,
    bootstrap: str,
    settings: dict[str, object],
    name: str,
    records: int,
    size: int,
    groups: int = 1,
) -> RunResult:
    """All of a topic, by each of so many groups."""
    spawn = multiprocessing.get_context("spawn")
    ready, go, finished = spawn.Semaphore(0), spawn.Event(), spawn.Queue()
    arguments = (bootstrap, settings, name, records, ready, go, finished)
    readers = [spawn.Process(target=read_all, args=arguments, daemon=True) for _ in range(groups)]
    for reader in readers:
        reader.start()
    try:
        for _ in readers:
            if not ready.acquire(timeout=60):
                raise TimeoutError("a consumer has no partition after 60 s")
        meter = Meter(server)
        begin = time.perf_counter()
        go.set()
        ends = [finished.get(timeout=300) for _ in readers]
        return meter.stop(records=records * groups, record_bytes=size, wall_s=max(ends) - begin)
    finally:
        for reader in readers:
            reader.join(10)
            reader.kill()


def read_all(
    bootstrap: str, settings: dict[str, object], name: str, records: int, ready: Any, go: Any, finished: Any
) -> None:
    """A process of its own: join a new group, wait for the start, read everything, tell the time."""
    client = consumer(bootstrap, group_id=new_group(), **settings)

    def assigned(*_: object) -> None:
        ready.release()
        go.wait()

    client.subscribe([name], on_assign=assigned)
    got = 0
    while got < records:
        batch = client.consume(min(20_000, records - got), 1.0)
        for message in batch[-1:]:
            if message.error():
                raise RuntimeError(message.error())
        got += len(batch)
    finished.put(time.perf_counter())
    client.close()
