"""A handler works through everything that one request names without letting others in between."""

from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.sim.bugs.base import Bug


def _make(right: object) -> object:
    async def pause(self: LoopBudget) -> None:
        pass

    return pause


BUG = Bug(
    "pause-forgotten",
    "a large request is worked off in one callback",
    LoopBudget,
    "pause",
    _make,
    nodes=3,
    scenario="large-requests",
)
