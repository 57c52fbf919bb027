"""Looks at a cluster every two seconds, as one person, and keeps the history of the last hour.

All tabs of that person share it, so what a cluster pays does not grow with tabs. Where one look takes long (thousands
of partitions, a slow node), the next comes later: looking takes at most a fifth of the time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress

from barnabas.console.clusters import members, reading
from barnabas.console.clusters.facts import Facts, Group, TopicPartition
from barnabas.console.clusters.history import SAMPLE_SECONDS, History
from barnabas.console.clusters.node_metrics import NodeMetrics
from barnabas.console.clusters.write_times import WriteTimes, unread_places
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.observe.overview import Overview

log = logging.getLogger("barnabas.console")

_SHARE_OF_TIME = 4
_LONG_SECONDS = 0.5  # of waiting, mostly: a machine under load is not a reason to look away
_SIZES_EVERY = 5  # samples: sizes of logs and disks move slowly
_MEMBERS_EVERY = 5
_DESCRIBED_MAX = 500  # groups in a look
_WITHOUT_MEMBERS = ("Empty", "Dead")
_REFUSED_SECONDS = 30.0  # a login that is refused is refused again, and each time is in the audit trail
_LOOK_SECONDS = 15.0  # then the cluster counts as slow, and that is said


class Observer:
    def __init__(
        self,
        nodes: AsyncNodes,
        metrics: NodeMetrics | None = None,
        history: History | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._nodes = nodes
        self.metrics = metrics
        self._clock = clock
        self.facts = Facts()
        self.history = history or History()
        self.looks = 0
        self._sized = False
        self._write_times = WriteTimes()
        self._task: asyncio.Task[None] | None = None
        self._looked = asyncio.Event()
        self._hurry = asyncio.Event()

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def first_look(self, timeout_s: float) -> None:
        """Waits until something is known, or known to be wrong."""
        while not self.facts.at and not self.facts.problem:
            await self.next_look(timeout_s)

    async def next_look(self, timeout_s: float) -> bool:
        """Whether one ended within the time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._looked.wait()
            return True
        except TimeoutError:
            return False

    def hurry(self) -> None:
        """Something was changed: the next look comes now, not in two seconds."""
        self._hurry.set()

    async def _run(self) -> None:
        while True:
            began, rest = time.monotonic(), 0.0
            try:
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._look()
                self.facts.problem = ""
            except TimeoutError:
                self.facts.problem = f"the cluster did not answer within {_LOOK_SECONDS:.0f} s"
            except (LinkDown, UnknownApi) as error:
                self.facts.problem = str(error)
            except LoginFailed as error:
                self.facts.problem, rest = str(error), _REFUSED_SECONDS
            except Exception as error:  # one defect must not end the pages of everybody
                log.exception("a look at the cluster failed")
                self.facts.problem = f"{type(error).__name__} in the console: see its log"
            if self.facts.problem:
                self.history.add(self._clock(), {})
            self.looks += 1
            self._tell()
            took = time.monotonic() - began
            seconds = took * _SHARE_OF_TIME if took > _LONG_SECONDS else 0.0
            await self._rest(max(SAMPLE_SECONDS - took, seconds, 0.05, rest))

    def _tell(self) -> None:
        self._looked.set()
        self._looked = asyncio.Event()

    async def _rest(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
        self._hurry.clear()

    async def _look(self) -> None:
        nodes, facts, now = self._nodes, self.facts, self._clock()
        before, before_at = facts.ends, facts.at
        await reading.read_cluster(nodes, facts)
        if not before_at:  # pages can begin: who is there, which topics
            facts.at = now
            self._tell()
        up = [each.id for each in facts.nodes.values() if not each.fenced]
        ends = await reading.read_offsets(nodes, facts.topics.values(), reading.LATEST)
        groups_before = facts.groups
        facts.groups = await reading.read_groups(nodes, up)
        facts.committed, facts.spark = await reading.read_committed_offsets(nodes, facts.groups.values())
        if self.looks % _SIZES_EVERY == 0 or not self._sized:
            facts.starts = await reading.read_offsets(nodes, facts.topics.values(), reading.EARLIEST)
            facts.sizes, facts.folders = await reading.read_sizes(nodes, up)
            self._sized = True  # or refused, which each try would write into the audit trail
        places = unread_places(facts.committed, ends)
        facts.written, _, _ = await asyncio.gather(
            self._write_times.read(nodes, facts.topics, places, facts.starts, ends),
            self._look_at_members(groups_before),
            self._scrape(),
        )
        facts.ends, facts.at = ends, now
        self.history.add(now, self._sample(before, before_at))

    async def _scrape(self) -> None:
        if self.metrics is not None:
            up = [each for each in self.facts.nodes.values() if not each.fenced]
            self.facts.metrics = await self.metrics.scrape(up)

    async def _look_at_members(self, before: Mapping[str, Group]) -> None:
        """Of groups that have some: those that changed since the last look, and now and then the others."""
        facts = self.facts
        active = {name: each for name, each in facts.groups.items() if each.state not in _WITHOUT_MEMBERS}
        kept = {name: each for name, each in facts.membership.items() if name in active}
        asked = [
            each
            for index, (name, each) in enumerate(active.items())
            if name not in kept or before.get(name) != each or index % _MEMBERS_EVERY == self.looks % _MEMBERS_EVERY
        ]
        described = await members.describe(self._nodes, asked[:_DESCRIBED_MAX])
        told = {name: members.membership(each) for name, each in described.items() if not each.error}
        facts.membership = kept | told

    def _sample(self, before: dict[TopicPartition, int], before_at: float) -> dict[str, float]:
        facts = self.facts
        values: dict[str, float] = {
            "nodes": sum(not each.fenced for each in facts.nodes.values()),
            "under-replicated": sum(
                each.is_under_replicated for topic in facts.topics.values() for each in topic.partitions
            ),
            "offline": sum(each.leader < 0 for topic in facts.topics.values() for each in topic.partitions),
        }
        for name in facts.groups:
            if (lag := facts.lag(name)) is not None:
                values[f"group:{name}:lag"] = lag
            if (seconds := facts.seconds(name)) is not None:
                values[f"group:{name}:seconds"] = seconds
        if facts.metrics is not None:
            values.update(_of_metrics(facts.metrics))
        if before_at:
            rates = _rates(before, facts.ends, facts.at - before_at)
            values["in.records"] = sum(rates.values())
            values.update({f"topic:{name}:records": rate for name, rate in rates.items()})
        return values

    def records_rate(self, topic: str) -> float | None:
        return self.history.last(f"topic:{topic}:records")


def _of_metrics(told: Overview) -> dict[str, float]:
    values = {
        "in.bytes": sum(each.bytes_in for each in told.nodes),
        "out.bytes": sum(each.bytes_out for each in told.nodes),
        "requests": sum(each.requests for each in told.nodes),
    }
    for node in told.nodes:
        if node.up:
            values[f"node:{node.node}:cpu"] = node.cpu_percent
            values[f"node:{node.node}:memory"] = node.memory_bytes
            if node.p99_ms is not None:
                values[f"node:{node.node}:p99"] = node.p99_ms
    for topic in told.topics:
        values[f"topic:{topic.topic}:in.bytes"] = topic.bytes_in
        values[f"topic:{topic.topic}:out.bytes"] = topic.bytes_out
    return values


def _rates(before: dict[TopicPartition, int], after: dict[TopicPartition, int], seconds: float) -> dict[str, float]:
    """Records a second of each topic; a partition that was not seen before, or whose log was cut, counts as still."""
    found: dict[str, float] = defaultdict(float)
    for partition, end in after.items():
        found[partition[0]] += max(0, end - before.get(partition, end)) / max(seconds, 0.001)
    return dict(found)
