"""Faults that strike several nodes: killed or without power all at once, restarted one after another, a lost disk."""

import asyncio
from typing import TYPE_CHECKING

from barnabas.sim.faults.base import Fault

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer


class KillSeveral(Fault):
    """kill -9 of a majority, or of all of them, in one moment."""

    name = "kill -9 of several"

    async def strike(self) -> None:
        computers = self.world.computers
        count = self.random.choice((len(computers) // 2 + 1, len(computers)))
        chosen = self.random.sample(computers, count)
        for computer in chosen:
            computer.kill()
        await self.bring_back(chosen)

    async def bring_back(self, computers: list["Computer"]) -> None:
        """In any order, some much later than others."""
        self.random.shuffle(computers)
        for computer in computers:
            await self.wait(self.random.choice((0.1, 2.0, 6.0)))
            if not computer.is_up:
                computer.start()


class PowerLossOfAll(KillSeveral):
    """The building goes dark: only what was flushed is left, on every machine."""

    name = "power loss of all"
    loses_unflushed = True

    async def strike(self) -> None:
        for computer in self.world.computers:
            computer.lose_power()
        await self.bring_back(list(self.world.computers))


class PowerLossOfSlowDisks(PowerLossOfAll):
    """The same while some disks take long to flush: what they have not flushed, they must not have promised."""

    name = "power loss of all, with slow disks"

    async def strike(self) -> None:
        slow = self.random.sample(self.world.computers, self.random.randint(1, 2))
        for computer in slow:
            computer.slow_sync_seconds = 2.0
        self.world.trace.note(f"fsync is slow on {', '.join(computer.name for computer in slow)}")
        await asyncio.sleep(0.5 + self.random.random())
        for computer in slow:
            computer.slow_sync_seconds = 0.0
        await super().strike()
        await asyncio.sleep(2.0)


class KillTogether(KillSeveral):
    """Two nodes one shortly after the other, as when the second stumbles over the first's end."""

    name = "kill -9 of one, then another"

    async def strike(self) -> None:
        first, second = self.random.sample(self.world.computers, 2)
        first.kill()
        await self.wait(self.random.choice((0.01, 0.5, 3.0)))
        second.kill()
        await self.bring_back([first, second])


class RollingRestart(Fault):
    """Every node is stopped in peace and started again, the next one when it is back."""

    name = "rolling restart"

    async def strike(self) -> None:
        for computer in self.random.sample(self.world.computers, len(self.world.computers)):
            computer.stop()
            for _ in range(200):
                await asyncio.sleep(0.1)
                if not computer.is_up:
                    break
            await self.wait(1.0)
            if not computer.is_up:
                computer.start()
            for _ in range(100):
                await asyncio.sleep(0.1)
                if computer.ready:
                    break


class EmptyDisk(Fault):
    """A machine comes back with a new, empty disk; its peers fill it again.

    A voter of the quorum that forgets its vote is safe only while no election is under way and the others have all that
    was committed: the operator who changes a disk waits for that, and for other disks to be full again.
    """

    name = "empty disk"

    async def strike(self) -> None:
        if not await self.all_in_sync():
            return
        self.computer.kill()
        self.computer.lose_disk()
        await self.restart(2.0)
