"""kill -9: the process is gone between two callbacks; everything it wrote stays."""

from barnabas.sim.faults.base import Fault


class Kill(Fault):
    name = "kill -9"

    async def strike(self) -> None:
        self.computer.kill()
        await self.restart()
