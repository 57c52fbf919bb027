"""Makes the text of /metrics from what the parts of the node count, in steps that leave the loop to others.

One scrape at a time: those that come while one is made wait for the next, which serves them all, and that begins only
when the loop has had several times as long for others. So no number of readers takes more than a fifth of the loop.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Protocol

from barnabas.broker import clock
from barnabas.broker.clock import Clock, wall_ms
from barnabas.broker.cluster_links.driver import ClusterLinks
from barnabas.broker.controller.driver import ControllerDriver
from barnabas.broker.coordinator.groups import GroupDriver
from barnabas.broker.coordinator.transactions import TxnDriver
from barnabas.broker.metrics import machine
from barnabas.broker.metrics.collect import clients, cluster, groups, links, node, partitions, requests, topics
from barnabas.broker.metrics.exposition import histogram, single
from barnabas.broker.metrics.health import Health
from barnabas.broker.metrics.lag import GroupLags
from barnabas.broker.metrics.loop_health import LoopHealth
from barnabas.broker.network.dispatch import Dispatcher
from barnabas.broker.network.listener import Listener
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.quorum.driver import QuorumDriver
from barnabas.broker.replication.driver import Replication
from barnabas.broker.roles import ClusterView
from barnabas.broker.upkeep.disk_space import DiskSpace
from barnabas.broker.upkeep.flusher import Flusher

_STEP_SECONDS = 0.003
_REST_TIMES = 4  # as long as the last scrape took


class ServingParts(Protocol):
    """What serves requests."""

    @property
    def listener(self) -> Listener: ...
    @property
    def dispatcher(self) -> Dispatcher: ...
    @property
    def groups(self) -> GroupDriver: ...
    @property
    def transactions(self) -> TxnDriver: ...


class StoringParts(Protocol):
    """What holds records."""

    @property
    def partitions(self) -> PartitionTable: ...
    @property
    def replication(self) -> Replication: ...
    @property
    def cluster_links(self) -> ClusterLinks: ...
    @property
    def flusher(self) -> Flusher: ...
    @property
    def disk_space(self) -> DiskSpace: ...


class DecidingParts(ClusterView, Protocol):
    """What knows of the cluster, and of the node as a whole."""

    @property
    def controller(self) -> ControllerDriver: ...
    @property
    def quorum(self) -> QuorumDriver: ...
    @property
    def health(self) -> Health: ...
    @property
    def clock(self) -> Clock: ...


class MeteredNode(ServingParts, StoringParts, DecidingParts, Protocol):
    @property
    def loop_health(self) -> LoopHealth | None: ...


class Scraper:
    """`why_not_ready`: readiness.py. `failed_logins`: of those who wanted to read /metrics."""

    def __init__(
        self, parts: MeteredNode, lags: GroupLags, why_not_ready: Callable[[], str], failed_logins: Callable[[], int]
    ) -> None:
        self._parts = parts
        self._lags = lags
        self._why_not_ready = why_not_ready
        self._failed_logins = failed_logins
        self._recent = requests.RecentTimes(clock.source.monotonic)
        self._free = machine.FreeSpace()
        self._started_s = wall_ms() / 1000
        version = ".".join(map(str, sys.version_info[:3]))
        self._build = {"version": metadata.version("barnabas"), "python": version, "node_id": str(parts.node_id)}
        self._took = 0.0  # CPU time of the last scrape
        self._may_begin = 0.0
        self._making: dict[bool, asyncio.Task[bytes]] = {}
        self._turn = asyncio.Lock()

    async def text(self, *, every: bool) -> bytes:
        """`every`: with the series of partitions."""
        task = self._making.get(every)
        if task is None:
            task = self._making[every] = asyncio.ensure_future(self._make_in_turn(every))
        return await asyncio.shield(task)

    async def _make_in_turn(self, every: bool) -> bytes:
        try:
            async with self._turn:
                wait = self._may_begin - clock.source.monotonic()
                if wait > 0:
                    await asyncio.sleep(wait)
                del self._making[every]  # who comes now gets a newer one
                return await self._make(every)
        finally:
            if self._making.get(every) is asyncio.current_task():
                del self._making[every]

    async def _make(self, every: bool) -> bytes:
        parts, loop, now = self._parts, asyncio.get_running_loop(), clock.source.monotonic
        self._lags.wanted()
        reading = await loop.run_in_executor(None, machine.read, parts.disk_space.measure)
        self._free.add(now(), reading.disk_free)
        pieces: list[bytes] = []
        took, begun, worked = 0.0, now(), time.thread_time()
        for piece in self._pieces(reading, every):
            if piece:
                pieces.append(piece.encode())
            if now() - begun >= _STEP_SECONDS:
                took += time.thread_time() - worked
                await asyncio.sleep(0)
                begun, worked = now(), time.thread_time()
        took += time.thread_time() - worked
        self._took, self._may_begin = took, now() + took * _REST_TIMES
        return b"".join(pieces)

    def _pieces(self, reading: machine.Reading, every: bool) -> Iterator[str]:
        parts = self._parts
        table, image = parts.partitions, parts.image
        is_ready = not self._why_not_ready()
        if parts.loop_health is not None:
            holds = parts.loop_health.holds
            yield node.collect(parts.health, holds, is_ready=is_ready, started_s=self._started_s, build=self._build)
        now = clock.source.monotonic()
        yield from node.machine(reading, self._free.full_in_seconds(now, reading.disk_free))
        yield from partitions.collect(table, parts.replication, every=every)  # it brings the topics up to date
        yield from partitions.partition_counts(table, image)
        yield from topics.collect(table.counts)
        dispatcher = parts.dispatcher
        yield from requests.collect(dispatcher.counts, (dispatcher.errors, table.counts.errors), self._recent)
        failed = parts.listener.failed_logins + self._failed_logins()
        yield node.connections(parts.listener.limits.by_listener(), failed)
        yield node.throttled(dispatcher.throttled_totals())
        yield histogram("barnabas_log_flush_seconds", [("", parts.flusher.times)])
        yield histogram("barnabas_replica_fetch_seconds", [("", parts.replication.fetch_times)])
        yield from cluster.collect(image, parts.controller, parts.quorum)
        yield from links.collect(parts.cluster_links, wall_ms())
        yield from groups.collect(parts.groups, self._lags, wall_ms(), every=every)
        yield from groups.transactions(parts.transactions, wall_ms())
        yield from clients.collect(parts)
        yield single("barnabas_scrape_seconds", self._took)

    def close(self) -> None:
        for task in self._making.values():
            task.cancel()
        self._lags.close()
