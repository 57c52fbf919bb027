"""kill -9 of one node after a calm time. It stays down for a while, and the others must be at work again within the
short bound of S8."""

import asyncio

from barnabas.sim.faults.base import Fault


class CalmKill(Fault):
    name = "kill -9 in a calm"

    async def strike(self) -> None:
        for _ in range(100):
            since = self.world.health.all_well_since
            if since is not None and self.world.loop.now - since > 15.5:
                break
            await asyncio.sleep(0.25)
        else:
            return
        self.computer.kill()
        await asyncio.sleep(8.0)
        await self.restart(1.0)
