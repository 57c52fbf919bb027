"""The disk: slow to sync, full, failing to write or read, and the one that is fatal, a failed fsync."""

import asyncio

from barnabas.sim.faults.base import Fault


class SlowSync(Fault):
    name = "slow fsync"

    async def strike(self) -> None:
        self.computer.slow_sync_seconds = self.random.choice((0.05, 0.5, 2.0))
        self.world.trace.note(f"fsync is slow by up to {self.computer.slow_sync_seconds} s")
        await self.wait(8.0)
        self.computer.slow_sync_seconds = 0.0


class Full(Fault):
    name = "disk full"

    async def strike(self) -> None:
        self.world.trace.note("the disk is full")
        self.world.excuses += 1
        self.computer.platter.given_back_bytes = 0
        self.computer.platter.full = True
        await self.wait(5.0)
        self.computer.platter.full = False
        self.world.trace.note("there is room again")
        await self._start_again()

    async def _start_again(self) -> None:
        """An operator's part: a node that stopped, or could not start, is started again."""
        await asyncio.sleep(0.5)
        if not self.computer.is_up:
            self.computer.start()
            await asyncio.sleep(0.5)
        self.world.excuses -= 1


class FailingReads(Full):
    name = "reads fail"

    async def strike(self) -> None:
        self.world.trace.note("reads fail now and then")
        self.world.excuses += 1
        self.computer.platter.failing_reads = True
        await self.wait(3.0)
        self.computer.platter.failing_reads = False
        await self._start_again()


class FailedSync(Fault):
    """What could not be synced may be gone; the node stops by itself, and the machine is started anew."""

    name = "failed fsync"
    loses_unflushed = True

    async def strike(self) -> None:
        self.world.trace.note("fsync fails")
        self.world.excuses += 1
        self.computer.platter.failing_syncs = True
        for _ in range(40):
            await asyncio.sleep(0.25)
            if not self.computer.is_up:
                break
        self.computer.platter.failing_syncs = False
        self.computer.lose_power()
        await self.restart()
        self.world.excuses -= 1
