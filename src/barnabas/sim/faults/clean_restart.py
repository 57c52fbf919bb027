"""A clean stop and a start, as in a rolling restart."""

import asyncio

from barnabas.sim.faults.base import Fault


class CleanRestart(Fault):
    name = "clean restart"

    async def strike(self) -> None:
        self.computer.stop()
        for _ in range(40):
            await asyncio.sleep(0.1)
            if not self.computer.is_up:
                break
        await self.restart(1.0)
