"""A transaction found in the log is given the time that the wall clock says is left, however much that is."""

from barnabas.core.wall_time import WallTime
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    def elapsed_ms(self: WallTime, since_ms: int, timeout_ms: int) -> int:
        return self.clock_ms - since_ms

    return elapsed_ms


BUG = Bug(
    "timeout-by-clock", "a wrong clock at boot moves timeouts", WallTime, "elapsed_ms", _make, scenario="abandoned"
)
