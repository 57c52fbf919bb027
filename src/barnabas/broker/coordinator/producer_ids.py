"""Hands out producer ids from blocks that the controller allots."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable


class ProducerIds:
    def __init__(self, next_block: Callable[[], Awaitable[range]]) -> None:
        self._next_block = next_block
        self._ids: deque[int] = deque()
        self._asking = asyncio.Lock()

    def take_now(self) -> int | None:
        return self._ids.popleft() if self._ids else None

    async def take(self) -> int:
        while not self._ids:
            await self.fill()
        return self._ids.popleft()

    async def fill(self) -> None:
        """At least one id is there when this returns."""
        async with self._asking:
            if not self._ids:
                self._ids.extend(await self._next_block())
