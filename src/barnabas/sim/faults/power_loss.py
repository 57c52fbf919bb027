"""Power loss: the process is gone, nobody is told, and of what was not synced a random part is on the platter."""

import asyncio

from barnabas.sim.faults.base import Fault


class PowerLoss(Fault):
    name = "power loss"
    loses_unflushed = True

    async def strike(self) -> None:
        self.computer.lose_power()
        await self.restart(5.0)


class PowerLossAtAnEnd(PowerLoss):
    """The power goes while a transaction is being ended, behind a slow fsync: of the decision and of the markers, any
    may be on the platter without the others."""

    name = "power loss at the end of a transaction"

    async def strike(self) -> None:
        seen = len(self.world.history.transactions)
        while not any(transaction.outcome == "unknown" for transaction in self.world.history.transactions[seen:]):
            await asyncio.sleep(0.001)
        self.computer.slow_sync_seconds = 2.0
        await asyncio.sleep(0.02 * self.random.random())
        self.computer.slow_sync_seconds = 0.0
        self.computer.lose_power()
        await self.restart(1.0)


class KillThenPowerLoss(Fault):
    """A process is killed while its fsyncs are slow: what it wrote is in the page cache, is recovered by the next
    process, and is not on the platter. Then the power goes, after that process has promised what it recovered."""

    name = "kill -9 behind a slow fsync, then power loss"
    loses_unflushed = True

    async def strike(self) -> None:
        self.computer.slow_sync_seconds = 2.0
        await asyncio.sleep(0.3 + self.random.random())
        self.computer.slow_sync_seconds = 0.0
        self.computer.kill()
        await self.restart(0.3)
        await asyncio.sleep(0.5 + 2 * self.random.random())
        self.computer.lose_power()
        await self.restart(1.0)
