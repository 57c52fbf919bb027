"""A live tail of a real node: nothing is missed, floods are passed over and counted, a deleted topic ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import pytest
from confluent_kafka.admin import AdminClient

from barnabas.browse import Browser, NoSuchTopic, Record
from tests.support.browsing import browse, producer

Create = Callable[..., str]


def test_everything_after_the_first_event_arrives_and_a_second_tail_takes_over(
    bootstrap: str, create: Create, topic: str
) -> None:
    create(topic, 3)
    sender = producer(bootstrap)
    sender.produce(topic, b"before", partition=0)
    sender.flush(30)

    async def story(browser: Browser) -> None:
        found: list[Record] = []
        offsets: dict[int, int] = {}
        async with asyncio.timeout(30), aclosing(browser.tail(topic)) as tail:
            first = await anext(tail)
            assert (first.records, first.offsets) == ([], {0: 1, 1: 0, 2: 0})
            for number in range(30):
                sender.produce(topic, b"%d" % number, partition=number % 3)
            await asyncio.to_thread(sender.flush, 30)
            async for event in tail:
                found += event.records
                offsets = event.offsets
                assert (event.dropped, event.trouble) == (0, "")
                if len(found) == 30:
                    break
        assert sorted(int(each.value or b"") for each in found) == list(range(30))
        sender.produce(topic, b"between", partition=1)
        await asyncio.to_thread(sender.flush, 30)
        async with asyncio.timeout(30), aclosing(browser.tail(topic, None, offsets)) as tail:
            async for event in tail:
                if event.records:
                    assert [each.value for each in event.records] == [b"between"]
                    break

    browse(bootstrap, story)


def test_a_flood_is_passed_over_and_counted(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 2)
    sender = producer(bootstrap, linger_ms=50)

    def flood() -> None:
        for number in range(40_000):
            sender.produce(topic, b"%d" % number, partition=number % 2)
            if number % 1_000 == 0:
                sender.poll(0)
        sender.produce(topic, b"last", partition=0)
        sender.flush(30)

    async def story(browser: Browser) -> None:
        seen = dropped = 0
        async with asyncio.timeout(60), aclosing(browser.tail(topic, rate=100)) as tail:
            await anext(tail)
            flooding = asyncio.create_task(asyncio.to_thread(flood))
            async for event in tail:
                assert len(event.records) <= 100
                seen += len(event.records)
                dropped += event.dropped
                if seen + dropped == 40_001:
                    break
            await flooding
        assert 0 < seen < 2_000

    browse(bootstrap, story)


def test_a_filter_looks_at_what_comes(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 1)
    sender = producer(bootstrap)

    async def story(browser: Browser) -> None:
        found: list[bytes | None] = []
        keep = lambda record: record.value is not None and record.value.endswith(b"7")  # noqa: E731
        async with asyncio.timeout(30), aclosing(browser.tail(topic, rate=50, keep=keep)) as tail:
            await anext(tail)
            for number in range(300):
                sender.produce(topic, b"%d" % number, partition=0)
            await asyncio.to_thread(sender.flush, 30)
            async for event in tail:
                found += [each.value for each in event.records]
                assert event.dropped == 0
                if event.offsets[0] == 300:
                    break
        assert found == [b"%d" % number for number in range(300) if number % 10 == 7]

    browse(bootstrap, story)


def test_a_topic_that_is_deleted_ends_the_tail(bootstrap: str, create: Create, topic: str, admin: AdminClient) -> None:
    create(topic, 1)

    async def story(browser: Browser) -> None:
        async with asyncio.timeout(30), aclosing(browser.tail(topic)) as tail:
            await anext(tail)
            await asyncio.to_thread(admin.delete_topics([topic])[topic].result, 20)
            with pytest.raises(NoSuchTopic):
                async for _ in tail:
                    pass

    browse(bootstrap, story)
