"""1,000 idle connections to a fresh node: what each costs in memory, and all of them in CPU.

A fresh node, because one that has held as many before takes them into memory it already has.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..processes import memory_mb
from ..servers import Server
from ..wire import Connection, api_versions_frame
from ..workload import RunResult, Workload


@dataclass(frozen=True, slots=True)
class ConnectionsCase:
    connections: int = 1000

    @property
    def label(self) -> str:
        return f"{self.connections:,} idle connections"


class Connections(Workload[ConnectionsCase]):
    name = "connections"
    title = "Idle connections"
    warm_up = 0
    measures = (
        Measure("kb_each", "memory each", "KB", Better.LOWER, value_goal=50, digits=1),
        Measure("open_s", "to open all", "s", Better.LOWER),
        Measure("idle_percent", "CPU of the node meanwhile", "% of a core", Better.LOWER),
    )

    def cases(self) -> Sequence[ConnectionsCase]:
        return [ConnectionsCase()]

    def run(self, server: Server, case: ConnectionsCase, options: Options) -> RunResult:
        fresh = server.sibling()
        opened: list[Connection] = []
        try:
            fresh.start()
            hello = api_versions_frame()
            first = fresh.wait_ready()
            first.call(hello)
            first.close()  # a node may count connections by address, and all of these have the same
            time.sleep(options.seconds(3))
            before = memory_mb(fresh.pid)["rss_mb"]
            begin = time.perf_counter()
            for _ in range(case.connections):
                connection = Connection(fresh.address, buffer_bytes=4096)
                connection.call(hello)
                opened.append(connection)
            took = time.perf_counter() - begin
            meter = Meter(fresh)
            time.sleep(options.seconds(5))
            result = meter.stop()
            grown = memory_mb(fresh.pid)["rss_mb"] - before
            return result | {
                "kb_each": round(max(0.0, grown) * 1024 / case.connections, 2),
                "open_s": round(took, 3),
                "idle_percent": round(float(result["server_cpu_s"]) / float(result["wall_s"]) * 100, 3),
            }
        finally:
            for connection in opened:
                connection.close()
            fresh.remove()
