"""Power loss: the process is gone, nobody is told, and of what was not synced a random part is on the platter."""

from barnabas.sim.faults.base import Fault


class PowerLoss(Fault):
    name = "power loss"
    loses_unflushed = True

    async def strike(self) -> None:
        self.computer.lose_power()
        await self.restart(5.0)
