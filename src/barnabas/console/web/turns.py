"""Work for one page beside all others: the loop serves them between two records, after some milliseconds of work."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

_TURN_SECONDS = 0.005

Item = TypeVar("Item")
Made = TypeVar("Made")


async def in_turns(items: Iterable[Item], work: Callable[[Item], Made]) -> AsyncIterator[Made]:
    """What `work` makes of each."""
    until = time.monotonic() + _TURN_SECONDS
    for item in items:
        yield work(item)
        if time.monotonic() >= until:
            await asyncio.sleep(0)
            until = time.monotonic() + _TURN_SECONDS
