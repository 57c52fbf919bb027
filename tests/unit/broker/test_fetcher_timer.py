"""The replica fetcher's timer on uvloop, whose call_at gives a Handle without when() for a moment that is very near."""

import asyncio
from types import SimpleNamespace
from typing import Any

import uvloop

from barnabas.broker.replication.fetcher import ReplicaFetcher


def test_partitions_are_held_for_less_than_half_a_millisecond() -> None:
    async def story() -> None:
        fetcher: Any = ReplicaFetcher.__new__(ReplicaFetcher)
        woken: list[float] = []
        loop = asyncio.get_running_loop()
        fetcher._loop, fetcher._timer, fetcher._timer_due = loop, None, 0.0
        fetcher._held, fetcher._due = {}, {}
        fetcher._followed = {number: SimpleNamespace(held_until=0.0) for number in range(3)}
        fetcher._wake = lambda: woken.append(loop.time())
        for number, wait_s in enumerate((0.0001, 0.0002, 0.00005)):
            fetcher._hold_until(number, fetcher._followed[number], loop.time() + wait_s)
        async with asyncio.timeout(5):
            while fetcher._held:
                await asyncio.sleep(0.001)
        assert woken and sorted(fetcher._due) == [0, 1, 2]

    uvloop.run(story())
