"""Records are written as they were given, to the partitions that Java would choose, and sent again byte for byte."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing

import pytest
from confluent_kafka import Message

from barnabas import partition_for_key
from barnabas.browse import (
    FROM_HEADER,
    BrowseError,
    Browser,
    Manner,
    NewRecord,
    NoSuchRecord,
    NoSuchTopic,
    Query,
    Redriven,
    Span,
)
from tests.support.browsing import browse, everything, headers_of, producer

Create = Callable[..., str]


def contents(messages: list[Message]) -> Counter[tuple[object, object]]:
    return Counter((each.key(), each.value()) for each in messages)


async def through(browser: Browser, *given: object, **more: object) -> Redriven:
    async with asyncio.timeout(60), aclosing(browser.redrive(*given, **more)) as events:  # type: ignore[arg-type]
        last = [event async for event in events][-1]
    assert last.done
    return last


def test_records_arrive_as_they_were_given(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 4)
    headers = (("a", b"1"), ("a", None), ("é", b""))
    given = [
        NewRecord(b"key-1", b"value", headers, None, 1_700_000_000_000),
        NewRecord(None, None),
        NewRecord(b"", b"", (), 2),
        *(NewRecord(b"k%d" % number, b"x" * 1000) for number in range(2_000)),
    ]
    sent = browse(bootstrap, lambda browser: browser.send(topic, given))
    read = {(each.partition(), each.offset()): each for each in everything(bootstrap, topic, 4)}
    assert len(read) == len(given)
    for record, place in zip(given, sent, strict=True):
        message = read[place.partition, place.offset]
        assert (message.key(), message.value()) == (record.key, record.value)
        assert tuple(message.headers() or ()) == record.headers
        if record.key:
            assert place.partition == partition_for_key(record.key, 4)
    assert sent[2].partition == 2
    assert read[sent[0].partition, sent[0].offset].timestamp()[1] == 1_700_000_000_000


def test_what_a_topic_does_not_take_is_said(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 1, max_message_bytes="10000")
    compacted = create(f"{topic}-c", 1, cleanup_policy="compact")

    async def story(browser: Browser) -> None:
        with pytest.raises(BrowseError, match=r"max\.message\.bytes"):
            await browser.send(topic, [NewRecord(None, b"x" * 20_000)])
        with pytest.raises(BrowseError, match="refused a record"):
            await browser.send(compacted, [NewRecord(None, b"no key")])
        with pytest.raises(BrowseError, match="has no partition 7: it has 1"):
            await browser.send(topic, [NewRecord(None, b"", (), 7)])
        with pytest.raises(NoSuchTopic):
            await browser.send("nowhere", [NewRecord(None, b"")])

    browse(bootstrap, story)


def test_records_are_sent_again(bootstrap: str, create: Create, topic: str) -> None:
    source, target = create(topic, 3), create(f"{topic}-to", 3)
    sender = producer(bootstrap)
    for number in range(900):
        body = b"timeout %d" % number if number % 9 == 0 else b"fine %d" % number
        sender.produce(source, body, b"k%d" % number, number % 3, headers=[("n", b"%d" % number)])
    sender.produce(source, b"timeout \xff\x00" + b"z" * 900_000, None, 0)
    sender.flush(30)
    failed = [each for each in everything(bootstrap, source, 3) if (each.value() or b"").startswith(b"timeout")]

    async def story(browser: Browser) -> None:
        query = Query("text", "timeout")
        preview = await through(browser, source, None, query)
        assert (preview.records, preview.sent) == (101, 0)
        assert preview.partitions == Counter(each.partition() for each in failed)
        assert preview.bytes > 900_000
        done = await through(browser, source, target, query)
        assert (done.records, done.sent, done.bytes) == (101, 101, preview.bytes)
        again = everything(bootstrap, target, 3)
        assert contents(again) == contents(failed)
        origins = {f"{source}-{each.partition()}-{each.offset()}".encode() for each in failed}
        assert {dict(headers_of(each))[FROM_HEADER] for each in again} == origins
        # To the topic it comes from: the range is fixed, and a second time shows in a second header.
        await through(browser, source, source, [(0, 0), (1, 2)], manner=Manner(same_partition=True))
        marked = [each for each in everything(bootstrap, source, 3) if FROM_HEADER in dict(headers_of(each))]
        places = sorted((each.partition() or 0, each.offset() or 0) for each in marked)
        assert [partition for partition, _ in places] == [0, 1]
        await through(browser, source, source, places)
        times = [sum(name == FROM_HEADER for name, _ in headers_of(each)) for each in everything(bootstrap, source, 3)]
        assert Counter(times) == {0: 901, 1: 2, 2: 2}
        everyone = await through(browser, source, target, None, {2: Span(0, 50)}, manner=Manner(mark=False))
        assert (everyone.records, everyone.sent, everyone.partitions) == (50, 50, {2: 50})
        with pytest.raises(NoSuchRecord):
            await through(browser, source, target, [(0, 100_000)])
        with pytest.raises(NoSuchTopic):
            await through(browser, source, "nowhere", query)

    browse(bootstrap, story)
