"""Three nodes of one kind as one cluster: started together, one killed and started again, measured as one."""

from __future__ import annotations

import contextlib
import time

from . import processes
from .servers import READY_S, Server, ServerFailed


class ThreeNodeCluster:
    def __init__(self, server: Server) -> None:
        self.name = server.name
        self.nodes = [server.sibling() for _ in range(3)]
        for number, node in enumerate(self.nodes, 1):
            node.join(number, self.nodes)

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes)

    @property
    def pids(self) -> list[int]:
        return [node.pid for node in self.nodes if node.running]

    def start(self) -> None:
        for node in self.nodes:
            node.start()
        self.wait_ready()

    def wait_ready(self) -> None:
        """Until each that runs knows all that run."""
        running = [node for node in self.nodes if node.running]
        end = time.monotonic() + READY_S
        for node in running:
            while True:
                with contextlib.suppress(OSError):
                    connection = node.wait_ready()
                    known = connection.broker_count()
                    connection.close()
                    if known == len(running):
                        break
                if time.monotonic() > end:
                    raise ServerFailed(f"{self.name}: no cluster of {len(running)} after {READY_S:.0f} s")
                time.sleep(0.02)

    def memory_mb(self) -> float:
        return sum(processes.memory_mb(pid)["rss_mb"] for pid in self.pids)

    def remove(self) -> None:
        for node in self.nodes:
            node.kill()
            node.remove()
