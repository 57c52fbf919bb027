"""A fault: strikes, lasts a while, heals. It may not leave anything broken behind but what it says."""

import asyncio
from abc import ABC, abstractmethod
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World


class Fault(ABC):
    name = ""
    loses_unflushed = False  # takes unsynced writes with it

    def __init__(self, world: "World", computer: "Computer", random: Random) -> None:
        self.world = world
        self.computer = computer
        self.random = random

    @abstractmethod
    async def strike(self) -> None:
        """Do it, and see to it that it heals."""

    async def wait(self, most_seconds: float) -> None:
        await asyncio.sleep(self.random.random() * most_seconds)

    async def all_in_sync(self) -> bool:
        """Wait a while for a moment in which every disk holds everything: then one of them may go."""
        for _ in range(50):
            if self.world.losses.disk_may_go() and self.world.health.quorum_at_rest(self.computer):
                return True
            await asyncio.sleep(0.2)
        return False

    async def restart(self, most_seconds: float = 3.0) -> None:
        """Down for a while, then up again; a process that died meanwhile by another fault is started as well."""
        await self.wait(most_seconds)
        if not self.computer.is_up:
            self.computer.start()
