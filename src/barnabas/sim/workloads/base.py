"""What every workload is: a client process with a name, a seed of its own and a loop that ends when it is asked to.

A workload works on until `finishing`; then it ends what it has begun. It notes its progress, which S8 looks at.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import Client, NoAnswer
from barnabas.sim.history import Partition
from barnabas.sim.process import Process

if TYPE_CHECKING:
    from barnabas.sim.world import World


class Workload(ABC):
    kind = ""
    partitions: list[Partition]
    pause_seconds = 0.1

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.history = world.history
        self.random = Random(world.random.getrandbits(64))
        number = len(world.workloads) + 1
        self.process = Process(name, f"{world.subnet}.1.{number}")
        self.client = Client(world, name, self.process)
        self.begun = world.loop.now
        self.finishing = False
        self.steps = 0
        world.workloads.append(self)
        self.task = world.loop.spawn(self.process, self._run())

    async def _run(self) -> None:
        await self.until_answered(self.prepare)
        while not self.finishing:
            try:
                await self.step()
            except NoAnswer:
                await asyncio.sleep(self.random.random() * 0.5)
            await asyncio.sleep(self.random.random() * 2 * self.pause_seconds)
        await self.finish()
        self.client.close()

    async def until_answered(self, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await work()
                return
            except NoAnswer:
                await asyncio.sleep(0.2 + self.random.random() * 0.5)

    async def prepare(self) -> None:  # noqa: B027  most have nothing to prepare
        """Before the first step; tried until it is answered."""

    @abstractmethod
    async def step(self) -> None:
        """One thing that such a client does."""

    async def finish(self) -> None:  # noqa: B027  nor anything to end
        """After the last step."""

    def given_up(self, partition: Partition, code: int) -> bool:
        """Is this a partition that a fault has damaged, and that its node refuses? Then this client leaves it alone."""
        if code != ErrorCode.KAFKA_STORAGE_ERROR or not self.world.is_damaged(partition):
            return False
        self.partitions = [other for other in self.partitions if other != partition]
        if not self.partitions:
            self.finishing = True
        return True

    def progressed(self) -> None:
        self.steps += 1
        self.history.progress.setdefault(self.name, []).append(self.world.loop.now)

    def now_ms(self) -> int:
        return int((1_700_000_000.0 + self.world.loop.now) * 1000)

    @property
    def era(self) -> int:
        return self.world.losses.era

    def problem(self, text: str) -> None:
        """Something this workload saw that must not be."""
        line = f"{self.name}: {text}"
        self.world.trace.note(f"PROBLEM {line}")
        self.history.problems.append(line)

    async def backoff(self) -> None:
        await asyncio.sleep(0.05 + self.random.random() * 0.3)
