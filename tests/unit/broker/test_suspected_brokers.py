"""A broker whose connection closed is suspected until the cluster says that it is dead, or time is up."""

from __future__ import annotations

import asyncio

from barnabas.broker.peers import suspected_brokers
from barnabas.broker.peers.suspected_brokers import SuspectedBrokers


def test_the_decision_ends_the_wait() -> None:
    async def story() -> None:
        alive = {1, 2, 3}
        suspected = SuspectedBrokers(alive.__contains__)
        suspected.lost(2)
        waiting = asyncio.ensure_future(suspected.over())
        suspected.image_changed()  # something else changed
        await asyncio.sleep(0)
        assert suspected and not waiting.done()
        alive.remove(2)
        suspected.image_changed()
        await waiting
        assert not suspected

    asyncio.run(story())


def test_a_broker_that_is_known_to_be_dead_is_not_suspected_and_one_that_is_well_not_for_long() -> None:
    async def story() -> None:
        suspected = SuspectedBrokers({1, 2}.__contains__)
        suspected.lost(3)
        assert not suspected
        suspected.lost(2)
        begun = asyncio.get_running_loop().time()
        await suspected.over()
        assert asyncio.get_running_loop().time() - begun <= 10 * suspected_brokers.WAIT_SECONDS

    before, suspected_brokers.WAIT_SECONDS = suspected_brokers.WAIT_SECONDS, 0.02
    try:
        asyncio.run(story())
    finally:
        suspected_brokers.WAIT_SECONDS = before
