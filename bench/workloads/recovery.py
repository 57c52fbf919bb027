"""kill -9 with gigabytes in the log: the time from the command to the first acknowledged record on the partition."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..clients import create_topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload
from .datasize import fill
from .start import first_produce

TORN_BYTES = 50_000_000  # written anew before every kill, so that there is always something not yet on the disk


@dataclass(frozen=True, slots=True)
class RecoveryCase:
    label: str = "after kill -9"


class Recovery(Workload[RecoveryCase]):
    name = "recovery"
    title = "Recovery of a large log"
    warm_up = 0
    measures = (Measure("first_produce_s", "start to first produce", "s", Better.LOWER, value_goal=2.0),)

    def cases(self) -> Sequence[RecoveryCase]:
        return [RecoveryCase()]

    def prepare(self, server: Server, case: RecoveryCase, options: Options) -> None:
        large = server.sibling()
        self.state[server.name, "server"] = large
        large.start()
        large.wait_ready().close()
        name = self.state[server.name, "topic"] = create_topic(large.bootstrap)
        fill(large, name, int(options.big_gb * 1e9))

    def run(self, server: Server, case: RecoveryCase, options: Options) -> RunResult:
        large: Server = self.state[server.name, "server"]
        name: str = self.state[server.name, "topic"]
        fill(large, name, TORN_BYTES)
        large.kill()
        meter = Meter(server)  # the other one, which is idle: only to see whether strangers disturb
        begin = time.perf_counter()
        large.start()
        connection = large.wait_ready()
        first_produce(connection, name, create=False)
        took = time.perf_counter() - begin
        connection.close()
        return {"first_produce_s": round(took, 3), "other_cores": meter.others_cores()}

    def finish(self, server: Server) -> None:
        if large := self.state.get((server.name, "server")):
            large.remove()
