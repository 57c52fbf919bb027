"""The process dies in the middle of a change of its disk: the n-th write, rename, unlink or sync from now, a write
perhaps half done. During a restart this is a crash in recovery."""

import asyncio

from barnabas.sim.faults.base import Fault


class CrashInChange(Fault):
    name = "crash in a change on disk"
    power = False

    async def strike(self) -> None:
        self.computer.platter.crash_after_changes = self.random.choice((0, 1, 2, 3, 5, 8, 20, 60))
        if self.random.random() < 0.3 and self.computer.is_up:
            self.computer.kill()  # so that the crash comes while it starts
            self.computer.start()
        for _ in range(20):
            await asyncio.sleep(0.25)
            if not self.computer.is_up:
                break
        self.computer.platter.crash_after_changes = None
        if not self.computer.is_up:
            if self.power:
                self.computer.lose_power()
            await self.restart(1.0)


class PowerLossInChange(CrashInChange):
    name = "power loss in a change on disk"
    loses_unflushed = True
    power = True
