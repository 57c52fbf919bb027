"""Carries out a plan that a person has confirmed: a few partitions at a time, until all are moved or it is stopped.

Every move is a reassignment (KIP-455), after which the cluster is whole at every moment. Stopping takes back what is
under way and leaves what is done; when the console itself ends, the cluster finishes what is under way. A throttle in
bytes a second is set on the nodes for as long as the moves take (KIP-73).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from barnabas.console.clusters import placing
from barnabas.console.clusters.placing import Key
from barnabas.console.clusters.settings import BROKER, TOPIC, change_settings
from barnabas.console.problems import Problem
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import name_of
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi

log = logging.getLogger("barnabas.console")

_LOOK_SECONDS = 0.5
_DOWN_SECONDS = 120.0  # without an answer for so long it is given up
_THROTTLES = ("leader.replication.throttled", "follower.replication.throttled")


class Planned(NamedTuple):
    topic: str
    partition: int
    before: tuple[int, ...]
    replicas: tuple[int, ...]
    bytes: int  # of one replica

    @property
    def key(self) -> Key:
        return self.topic, self.partition

    @property
    def added(self) -> tuple[int, ...]:
        return tuple(each for each in self.replicas if each not in self.before)


class Mover:
    """One plan at a time; `nodes` makes connections of its own, as the person who began it."""

    def __init__(self, nodes: Callable[[], AsyncNodes]) -> None:
        self._new_nodes = nodes
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self.title = ""
        self.waiting: list[Planned] = []
        self.running: dict[Key, Planned] = {}
        self.done: list[Planned] = []
        self.failed: list[str] = []
        self.problem = ""

    @property
    def busy(self) -> bool:
        return self._task is not None and not self._task.done()

    def start(self, title: str, moves: Sequence[Planned], at_once: int, throttle: int | None) -> None:
        if self.busy:
            raise Problem(f"{self.title} is still under way", "Wait until it is done, or stop it.", 409)
        self.title, self.waiting, self.running, self.done = title, list(moves), {}, []
        self.failed, self.problem, self._stopping = [], "", False
        self._task = asyncio.get_running_loop().create_task(self._run(at_once, throttle))

    def stop(self) -> None:
        """Takes back what is under way, soon; what is done stays."""
        self._stopping = True

    def taken_back(self, keys: Iterable[Key]) -> None:
        """By a person, one by one."""
        for topic, partition in keys:
            if self.running.pop((topic, partition), None) is not None:
                self.failed.append(f"{topic}-{partition}: taken back")

    async def close(self) -> None:
        """The console ends: what is under way goes on without it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, at_once: int, throttle: int | None) -> None:
        nodes = self._new_nodes()
        moves = list(self.waiting)
        try:
            if throttle is not None:
                await _throttle(nodes, moves, throttle)
            try:
                await self._move(nodes, at_once)
            finally:
                if throttle is not None:
                    await _throttle(nodes, moves, None)
            if self.done:
                await placing.elect_preferred(nodes, [each.key for each in self.done])
        except Problem as problem:
            self.problem = problem.message
        except (LinkDown, LoginFailed, UnknownApi) as error:
            self.problem = str(error)
        except Exception as error:  # it runs by itself: nobody else would tell
            log.exception("moving partitions failed")
            self.problem = f"{type(error).__name__} in the console: see its log"
        finally:
            nodes.close()

    async def _move(self, nodes: AsyncNodes, at_once: int) -> None:
        answered = time.monotonic()
        while self.waiting or self.running:
            try:
                if self._stopping:
                    await self._take_back(nodes)
                    return
                await self._begin(nodes, at_once)
                still = {(each.topic, each.partition) for each in await placing.read_moves(nodes)}
                answered = time.monotonic()
            except LinkDown:
                if time.monotonic() - answered > _DOWN_SECONDS:
                    raise
            else:
                for key in [key for key in self.running if key not in still]:
                    self.done.append(self.running.pop(key))
            if self.waiting or self.running:
                await asyncio.sleep(_LOOK_SECONDS)

    async def _begin(self, nodes: AsyncNodes, at_once: int) -> None:
        begun = self.waiting[: max(0, at_once - len(self.running))]
        if not begun:
            return
        refused = await placing.reassign(nodes, [(each.topic, each.partition, each.replicas) for each in begun])
        del self.waiting[: len(begun)]
        for each in begun:
            if each.key in refused:
                self.failed.append(f"{each.topic}-{each.partition}: {name_of(refused[each.key])}")
            else:
                self.running[each.key] = each

    async def _take_back(self, nodes: AsyncNodes) -> None:
        still = {(each.topic, each.partition) for each in await placing.read_moves(nodes)}
        for key in [key for key in self.running if key not in still]:
            self.done.append(self.running.pop(key))
        if self.running:
            await placing.reassign(nodes, [(each.topic, each.partition, None) for each in self.running.values()])
        left = len(self.running) + len(self.waiting)
        self.problem = f"stopped: {len(self.done)} moves are done, {left} taken back or not begun"
        self.running.clear()
        self.waiting.clear()


async def _throttle(nodes: AsyncNodes, moves: Sequence[Planned], rate: int | None) -> None:
    """None lets go, as far as it can: a node may be down and a topic deleted meanwhile."""
    told = None if rate is None else str(rate)
    every = None if rate is None else "*"
    for node in sorted({each for move in moves for each in (*move.before, *move.replicas)}):
        with suppress(LinkDown):  # one that is down replicates nothing, and is told nothing
            await change_settings(nodes, BROKER, str(node), {f"{name}.rate": told for name in _THROTTLES}, node=node)
    for topic in sorted({move.topic for move in moves}):
        try:
            await change_settings(nodes, TOPIC, topic, {f"{name}.replicas": every for name in _THROTTLES})
        except Problem:
            if rate is not None:
                raise
