"""The two clusters: the link reaches the source through a proxy, which can be cut, slowed and made to lose."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from tests.linked_clusters.conftest import FAST
from tests.support.cluster import BarnabasCluster
from tests.support.links import Links
from tests.support.process import free_port

LINK = "east"
QUICK = FAST | {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
    "transaction.max.timeout.ms": "15000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
}


class Source(BarnabasCluster):
    """With a listener for who comes from outside, whose addresses are those of the proxy (`way`)."""

    def __init__(self, folder: Path, count: int = 3) -> None:
        numbers = range(1, count + 1)
        ports = iter({free_port() for _ in range(20 * count)})
        self._outside = {number: next(ports) for number in numbers}
        self.way = Links({number: next(ports) for number in numbers}, self._outside)
        super().__init__(folder, count, QUICK)

    def _listeners(self, number: int, port: int) -> dict[str, str]:
        door, behind = self.way.doors[number], self._outside[number]
        return {
            "listeners": f"PLAINTEXT://127.0.0.1:{port},OUTSIDE://127.0.0.1:{behind}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},OUTSIDE://127.0.0.1:{door}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }

    @property
    def from_outside(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.way.doors.values())


@dataclass
class World:
    source: Source
    target: BarnabasCluster
    rng: random.Random
    told: list[str] = field(default_factory=list)

    @property
    def way(self) -> Links:
        return self.source.way

    def start(self) -> None:
        self.way.start()
        self.source.start()
        self.target.start()

    def stop(self) -> None:
        """Each, also when one of them fails: nothing may stay behind."""
        try:
            self.source.stop()
        finally:
            try:
                self.target.stop()
            finally:
                self.way.stop()

    def keeper(self) -> int:
        """The node of the target that keeps topics and groups like those of the source."""
        return min(self.target.up, key=lambda number: crc32(f"{LINK}:{number}".encode()))


def world_in(folder: Path, seed: int) -> World:
    return World(Source(folder / "source"), BarnabasCluster(folder / "target", 3, QUICK), random.Random(seed))
