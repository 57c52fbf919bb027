"""A tail, a search and a redrive go on when the leader that they speak to is killed, and miss nothing."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from barnabas.browse import NEWEST, Browser, Query
from tests.support.browsing import browse, everything, producer
from tests.support.cluster import BarnabasCluster

pytestmark = pytest.mark.timeout(180)
COUNT = 60_000


def test_the_leader_is_killed_during_a_tail_and_during_a_search(cluster: BarnabasCluster) -> None:
    topic = cluster.create("views", 3, min_insync_replicas="2")
    copied = cluster.create("copied", 3, min_insync_replicas="2")
    sender = producer(cluster.bootstrap, enable_idempotence=True, message_timeout_ms=120_000)

    def write(first: int, count: int) -> None:
        for number in range(first, first + count):
            body = b"%d needle" % number if number % 100 == 0 else b"%d" % number + b"x" * 300
            sender.produce(topic, body, partition=number % 3)
            sender.poll(0)
        assert sender.flush(60) == 0

    async def tail(browser: Browser) -> None:
        victim = cluster.leader(topic, 1)
        found: list[int] = []
        troubles = set()
        async with asyncio.timeout(90), aclosing(browser.tail(topic, rate=2_000)) as events:
            await anext(events)
            await asyncio.to_thread(write, 0, 90)
            async for event in events:
                found += [int((each.value or b"").rstrip(b"x needle")) for each in event.records]
                assert event.dropped == 0
                if len(found) == 90:
                    break
            await asyncio.to_thread(cluster.kill, victim)
            writing = asyncio.create_task(asyncio.to_thread(write, 90, 90))
            async for event in events:
                found += [int((each.value or b"").rstrip(b"x needle")) for each in event.records]
                assert event.dropped == 0
                troubles.add(event.trouble)
                if len(found) >= 180:
                    break
            await writing
        assert sorted(found) == list(range(180))
        assert any(f"node {victim}" in each for each in troubles)

    async def search(browser: Browser) -> None:
        victim = cluster.leader(topic, 0)
        offsets = []
        killing: asyncio.Task[None] | None = None
        searching = browser.search(topic, Query("text", "needle"), whole=True)
        async with asyncio.timeout(120), aclosing(searching) as updates:
            async for update in updates:
                offsets += [(each.partition, each.offset) for each in update.records]
                if killing is None:
                    killing = asyncio.create_task(asyncio.to_thread(cluster.kill, victim))
                    await asyncio.sleep(0)
        assert killing is not None
        await killing
        read = everything(cluster.bootstrap, topic, 3)
        expected = [(each.partition(), each.offset()) for each in read if (each.value() or b"").endswith(b"needle")]
        assert sorted(offsets) == sorted(expected)
        assert (update.progress.records, update.progress.found) == (len(read), len(expected))
        # one node is down still: pages, and sending again, by the two others
        assert len((await browser.page(topic, NEWEST, 20)).records) == 20
        async with asyncio.timeout(60), aclosing(browser.redrive(topic, copied, Query("text", "needle"))) as events:
            sent = [event.sent async for event in events]
        assert sent[-1] == len(expected) == len(everything(cluster.bootstrap, copied, 3))

    browse(cluster.bootstrap, tail)
    cluster.start(*(number for number in cluster.nodes if number not in cluster.up))
    cluster.await_isr(topic, 3, 3)
    write(180, COUNT)
    browse(cluster.bootstrap, search)
