"""The wall clock is wrong for a while, in either direction. Deadlines must not notice."""

from barnabas.sim.faults.base import Fault


class ClockJump(Fault):
    """It is set while the node runs, by up to ten minutes."""

    name = "clock jump"

    async def strike(self) -> None:
        jump = self.random.uniform(-600, 600)
        self.world.trace.note(f"the clock jumps by {jump:.0f} s")
        self.computer.wall_offset_seconds = jump
        await self.wait(10.0)
        self.computer.wall_offset_seconds = 0.0


class WrongClockAtBoot(Fault):
    """A node starts with a wrong clock, which is set right later: NTP answers after the node is up. What it has written
    meanwhile, and what it read, is off by so much. Behind by less than an hour, because records that lie further in the
    future are refused (message.timestamp.after.max.ms); ahead by two days at most: retention goes by this clock.
    """

    name = "wrong clock at boot"

    async def strike(self) -> None:
        wrong = self.random.choice((-3_000.0, -30.0, 30.0, 3_600.0, 172_800.0))
        self.computer.kill()
        self.computer.wall_offset_seconds = wrong
        self.world.trace.note(f"the clock is wrong by {wrong:.0f} s")
        await self.restart(1.0)
        await self.wait(8.0)
        if self.random.random() < 0.5:
            self.computer.kill()  # and the next start has the right time
        self.computer.wall_offset_seconds = 0.0
        await self.restart(1.0)
