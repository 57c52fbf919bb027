"""SIGSTOP: the process stands still, beyond session timeouts at times, and then goes on as if nothing had been."""

from barnabas.sim.faults.base import Fault


class Pause(Fault):
    name = "pause"

    async def strike(self) -> None:
        self.computer.pause()
        await self.wait(self.random.choice((0.5, 5.0, 20.0)))
        self.computer.resume()
