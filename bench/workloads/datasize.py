"""Cost must not depend on how much is stored: the same work on a partition of 10 MB and on one of gigabytes.

Produce (pipelined single records), tail (a record produced, then fetched at the end), and seek (small fetches at
offsets all over the partition). The figure is the cost on the large partition over that on the small one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..clients import create_topic, delete_topic, payloads
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..wire import Connection, fetch_frame, fetch_result, pipeline, produce_frame, produce_result, record_batch
from ..workload import RunResult, Workload

SMALL_BYTES = 10_000_000
FILL_RECORDS, FILL_SIZE = 900, 1024  # a batch just under max.message.bytes


@dataclass(frozen=True, slots=True)
class DataSizeCase:
    label: str
    requests: int


PRODUCE, TAIL, SEEK = DataSizeCase("produce", 20_000), DataSizeCase("tail", 10_000), DataSizeCase("seek", 10_000)


class DataSize(Workload[DataSizeCase]):
    name = "datasize"
    title = "Cost against data size"
    warm_up = 0.3
    # The goal is equality; 1.15 is our own allowance for noise, not a promise of the project.
    measures: ClassVar[tuple[Measure, ...]] = (
        Measure("cost_ratio", "CPU per request, large / small", "", Better.LOWER, value_goal=1.15, comparable=False),
        Measure("time_ratio", "time per request, large / small", "", Better.LOWER, value_goal=1.15, comparable=False),
        Measure("cpu_us_small", "CPU per request, small", "µs", Better.LOWER, digits=1),
        Measure("cpu_us_large", "CPU per request, large", "µs", Better.LOWER, digits=1),
    )

    def cases(self) -> Sequence[DataSizeCase]:
        return [PRODUCE, TAIL, SEEK]

    def prepare(self, server: Server, case: DataSizeCase, options: Options) -> None:
        if (server.name, "small") in self.state:
            return
        for which, size in (("small", SMALL_BYTES), ("large", int(options.big_gb * 1e9))):
            name = create_topic(server.bootstrap)
            self.state[server.name, which] = (name, fill(server, name, size))

    def finish(self, server: Server) -> None:
        for (owner, _), (name, _) in self.state.items():
            if owner == server.name:
                delete_topic(server.bootstrap, name)

    def run(self, server: Server, case: DataSizeCase, options: Options) -> RunResult:
        work = {PRODUCE: _produce, TAIL: _tail, SEEK: _seek}[case]
        requests = options.count(case.requests)
        small = self._measure(server, "small", work, requests)
        large = self._measure(server, "large", work, requests)
        cpu = float(small["cpu_us_per_request"]), float(large["cpu_us_per_request"])
        return {
            "cost_ratio": round(cpu[1] / cpu[0], 3) if cpu[0] else 1.0,
            "time_ratio": round(float(large["wall_s"]) / float(small["wall_s"]), 3),
            "cpu_us_small": cpu[0],
            "cpu_us_large": cpu[1],
            "other_cores": max(float(small["other_cores"]), float(large["other_cores"])),
            "server_cores": large["server_cores"],
            "client_cores": large["client_cores"],
        }

    def _measure(self, server: Server, which: str, work: Callable[..., None], requests: int) -> RunResult:
        name, records = self.state[server.name, which]
        connection = Connection(server.address)
        work(connection, name, records, 50)
        meter = Meter(server)
        work(connection, name, records, requests)
        result = meter.stop(requests=requests)
        connection.close()
        return result


def _produce(connection: Connection, name: str, records: int, requests: int) -> None:
    pipeline(connection, name, produce_frame(name, record_batch([b"x" * 100])), requests)


def _tail(connection: Connection, name: str, records: int, requests: int) -> None:
    data = produce_frame(name, record_batch([b"x" * 100]))
    for _ in range(requests // 2):
        _code, offset = produce_result(name, connection.call(data))
        got, _size = fetch_result(name, connection.call(fetch_frame(name, offset, 1 << 20)))
        if got != offset + 1:
            raise RuntimeError(f"the tail fetched at {offset} ends at {got}")


def _seek(connection: Connection, name: str, records: int, requests: int) -> None:
    chance = random.Random(requests)
    for _ in range(requests):
        # 4 KB asked for: a server gives one whole batch or as little as it can.
        connection.call(fetch_frame(name, chance.randrange(records), 4096))


def fill(server: Server, name: str, size_bytes: int) -> int:
    """Write about `size_bytes` as fast as the server takes them, in large ready-made batches; how many records."""
    batch = record_batch(payloads(FILL_SIZE, FILL_RECORDS))
    connection = Connection(server.address, timeout_s=120)
    requests = max(1, size_bytes // len(batch))
    pipeline(connection, name, produce_frame(name, batch), requests)
    connection.close()
    time.sleep(0.2)
    return requests * FILL_RECORDS
