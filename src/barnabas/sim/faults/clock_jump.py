"""The wall clock is set, by up to ten minutes either way. Deadlines must not notice."""

from barnabas.sim.faults.base import Fault


class ClockJump(Fault):
    name = "clock jump"

    async def strike(self) -> None:
        jump = self.random.uniform(-600, 600)
        self.world.trace.note(f"the clock jumps by {jump:.0f} s")
        self.computer.wall_offset_seconds = jump
        await self.wait(10.0)
        self.computer.wall_offset_seconds = 0.0
