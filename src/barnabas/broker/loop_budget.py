"""Lets others run while one request is worked on piece by piece: nobody holds the event loop for longer than a moment.

A handler with many partitions to look at calls `pause` between two of them. It returns at once until a few milliseconds
have passed or many pieces were done, and then waits for one turn of the loop. (Pieces are counted as well because time
stands still in the simulator while code runs; there, too, others must get their turn in between.)
"""

import asyncio

_TURN_SECONDS = 0.005
_TURN_PIECES = 256


class LoopBudget:
    __slots__ = ("_loop", "_pieces", "_until")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._begin()

    def _begin(self) -> None:
        self._pieces = 0
        self._until = self._loop.time() + _TURN_SECONDS

    async def pause(self) -> None:
        """One piece of work is done."""
        self._pieces += 1
        if self._pieces >= _TURN_PIECES or self._loop.time() >= self._until:
            await asyncio.sleep(0)
            self._begin()
