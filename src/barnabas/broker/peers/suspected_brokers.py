"""Brokers that have probably just died: their connection to this node closed, and the cluster does not say so yet.

A client that lost its leader asks for metadata within milliseconds, often before the controller has decided who leads
now. Given the dead leader once more, it would try that one and ask again only after its own backoff (a second with
librdkafka). So the answer to Metadata waits a moment for the decision. A broker that is alive after all, or a
decision that does not come, delays such a request by no more than `WAIT_SECONDS`.
"""

import asyncio
from collections.abc import Callable

WAIT_SECONDS = 1.0


class SuspectedBrokers:
    """`is_alive(broker_id)`: what the newest image says."""

    def __init__(self, is_alive: Callable[[int], bool]) -> None:
        self._is_alive = is_alive
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._over: asyncio.Future[None] | None = None

    def __bool__(self) -> bool:
        return bool(self._timers)

    def lost(self, broker_id: int) -> None:
        """A connection to this broker closed by itself."""
        if broker_id not in self._timers and self._is_alive(broker_id):
            loop = asyncio.get_running_loop()
            self._timers[broker_id] = loop.call_later(WAIT_SECONDS, self._end, broker_id)

    def image_changed(self) -> None:
        for broker_id in [each for each in self._timers if not self._is_alive(each)]:
            self._end(broker_id)

    async def over(self) -> None:
        """Until no broker is suspected any more."""
        while self._timers:
            if self._over is None:
                self._over = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._over)

    def close(self) -> None:
        for broker_id in list(self._timers):
            self._end(broker_id)

    def _end(self, broker_id: int) -> None:
        self._timers.pop(broker_id).cancel()
        if not self._timers and self._over is not None:
            self._over.set_result(None)
            self._over = None
