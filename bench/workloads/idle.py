"""What a node costs that nobody uses, after all the rows before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..processes import memory_mb
from ..servers import Server
from ..workload import RunResult, Workload


@dataclass(frozen=True, slots=True)
class IdleCase:
    label: str = "idle node"


class Idle(Workload[IdleCase]):
    name = "idle"
    title = "An idle node"
    warm_up = 0
    measures = (
        Measure("idle_percent", "CPU", "% of a core", Better.LOWER, value_goal=0.5),
        Measure("rss_mb", "memory, at the end of the benchmark", "MB", Better.LOWER, digits=0),
    )

    def cases(self) -> Sequence[IdleCase]:
        return [IdleCase()]

    def run(self, server: Server, case: IdleCase, options: Options) -> RunResult:
        time.sleep(1)  # what the last row left to do is not idleness
        meter = Meter(server)
        time.sleep(options.seconds(12))
        result = meter.stop()
        percent = float(result["server_cpu_s"]) / float(result["wall_s"]) * 100
        return result | {"idle_percent": round(percent, 3)} | memory_mb(server.pid)
