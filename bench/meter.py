"""Wall time of a run, and who used the CPU meanwhile: the server, our own load, the kernel, anyone else.

`other_cores` is how much strangers disturbed the run; the runner repeats a run that was disturbed too much.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Protocol

from . import processes
from .servers import live_pids


class Measured(Protocol):
    """A server, or a cluster of them."""

    @property
    def pids(self) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class Sample:
    at_s: float
    server_s: float
    servers_s: float  # every server of ours, the one under test among them
    client_s: float
    kernel_s: float
    busy_s: float
    stolen_s: float

    @classmethod
    def take(cls, server_pids: Sequence[int]) -> Sample:
        table = processes.processes()
        server = processes.family(table, server_pids)
        client = processes.family(table, [os.getpid()], without=live_pids())
        busy, stolen = processes.machine_cpu_s()
        return cls(
            time.perf_counter(),
            processes.cpu_s(table, server),
            processes.cpu_s(table, processes.family(table, live_pids())),
            processes.cpu_s(table, client),
            processes.kernel_cpu_s(table),
            busy,
            stolen,
        )

    def since(self, earlier: Sample) -> Sample:
        return Sample(*(now - then for now, then in zip(astuple(self), astuple(earlier), strict=True)))


class Meter:
    """Started when it is made; `stop` may be told the true wall time when the last reply came before the stop."""

    def __init__(self, server: Measured) -> None:
        self._pids = server.pids
        self._family = processes.family(processes.processes(), self._pids)
        self._threads = processes.thread_cpu_s(self._family)
        self._begin = Sample.take(self._pids)

    def stop(
        self, *, records: int = 0, record_bytes: int = 0, requests: int = 0, wall_s: float | None = None
    ) -> dict[str, float | str]:
        used = Sample.take(self._pids).since(self._begin)
        span, wall = used.at_s, wall_s or used.at_s
        others = used.busy_s - used.servers_s - used.client_s - used.kernel_s
        cores = os.cpu_count() or 1
        out: dict[str, float | str] = {
            "wall_s": round(wall, 4),
            "server_cpu_s": round(used.server_s, 3),
            "server_cores": round(used.server_s / span, 2),
            "client_cores": round(used.client_s / span, 2),
            "idle_cores": round(max(0.0, cores - (used.busy_s + used.stolen_s) / span), 2),
            "other_cores": round(max(0.0, others) / span, 2),
            "server_hot_thread": self._hottest(span),
        }
        if records:
            out["records_per_s"] = round(records / wall)
            out["cpu_s_per_million"] = round(used.server_s / records * 1e6, 3)
            if record_bytes:
                out["mb_per_s"] = round(records * record_bytes / wall / 1e6, 1)
                out["cpu_s_per_gb"] = round(used.server_s / (records * record_bytes) * 1e9, 3)
        if requests:
            out["requests_per_s"] = round(requests / wall)
            out["cpu_us_per_request"] = round(used.server_s / requests * 1e6, 2)
        return out

    def others_cores(self) -> float:
        return float(self.stop()["other_cores"])

    def _hottest(self, span: float) -> str:
        """The busiest thread of the server and its share of a core: near 1.00 it is the bottleneck."""
        after = processes.thread_cpu_s(self._family)
        used = [(total - self._threads.get(thread, 0.0), thread[1]) for thread, total in after.items()]
        seconds, name = max(used, default=(0.0, "-"))
        return f"{name} {seconds / span:.2f}"


def others_cores(server: Measured, seconds: float = 0.3) -> float:
    """How many cores strangers use right now."""
    meter = Meter(server)
    time.sleep(seconds)
    return meter.others_cores()
