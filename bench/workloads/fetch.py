"""Fetch by hand-made requests of 1 MiB and 10 MiB: the server's own cost per gigabyte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..clients import blast, create_topic, delete_topic, payloads, producer
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..wire import Connection, fetch_frame, fetch_result
from ..workload import RunResult, Workload

RECORDS, SIZE, PASSES = 500_000, 1024, 3


@dataclass(frozen=True, slots=True)
class FetchCase:
    mib: int

    @property
    def label(self) -> str:
        return f"{self.mib} MiB a fetch"


class Fetch(Workload[FetchCase]):
    name = "fetch"
    title = "Fetch, zero-copy"
    measures = (
        Measure("mb_per_s", "MB/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_gb", "server CPU per GB", "s", Better.LOWER, ratio_goal=1.0),
    )

    def cases(self) -> Sequence[FetchCase]:
        return [FetchCase(1), FetchCase(10)]

    def prepare(self, server: Server, case: FetchCase, options: Options) -> None:
        key = (server.name, "topic")
        if key not in self.state:
            self.state[key] = create_topic(server.bootstrap)
            blast(producer(server.bootstrap), self.state[key], payloads(SIZE), options.count(RECORDS))

    def finish(self, server: Server) -> None:
        if (server.name, "topic") in self.state:
            delete_topic(server.bootstrap, self.state[server.name, "topic"])

    def run(self, server: Server, case: FetchCase, options: Options) -> RunResult:
        name, records = self.state[server.name, "topic"], options.count(RECORDS)
        connection = Connection(server.address)
        requests = 0
        meter = Meter(server)
        for _ in range(PASSES):
            offset = 0
            while offset < records:
                offset, _size = fetch_result(name, connection.call(fetch_frame(name, offset, case.mib << 20)))
                requests += 1
        result = meter.stop(records=records * PASSES, record_bytes=SIZE)
        connection.close()
        return result | {"requests": requests}
