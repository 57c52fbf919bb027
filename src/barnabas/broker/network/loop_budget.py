"""Lets others run while one request is worked on piece by piece: nobody holds the event loop for longer than a moment.

A handler with many partitions to look at calls `pause` between two of them. It returns at once until a few milliseconds
have passed or many pieces were done, and then waits for one turn of the loop. (Pieces are counted as well because time
stands still in the simulator while code runs; there, too, others must get their turn in between. The machine's own
clock is never asked: a run of the simulator would depend on it.)
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import TypeVar

from barnabas.broker import clock

_TURN_SECONDS = 0.005
_TURN_PIECES = 256
Item = TypeVar("Item")
Done = TypeVar("Done")


class LoopBudget:
    __slots__ = ("_pieces", "_until")

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pieces = 0
        self._until = clock.source.monotonic() + _TURN_SECONDS

    async def pause(self) -> None:
        """One piece of work is done."""
        self._pieces += 1
        if self._pieces >= _TURN_PIECES or clock.source.monotonic() >= self._until:
            await asyncio.sleep(0)
            self._begin()


async def in_turns(items: Iterable[Item], work: Callable[[Item], Done]) -> list[Done]:
    """What `work` makes of each, with pauses in which the loop serves others."""
    found: list[Done] = []
    budget = LoopBudget()
    for item in items:
        found.append(work(item))
        await budget.pause()
    return found
