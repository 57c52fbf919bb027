"""Searches of a real node's topics find exactly what a plain confluent-kafka loop finds."""

from __future__ import annotations

import asyncio
import json
import random
import re
import time
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest
from confluent_kafka import Message
from confluent_kafka.admin import AdminClient

from barnabas.browse import Bound, Browser, NoSuchTopic, Progress, Query, Record, Span
from barnabas.browse.expression import BadExpression
from tests.support.browsing import browse, everything, producer

Create = Callable[..., str]
Judge = Callable[[Message], bool]
PARTITIONS = 3
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


async def collect(browser: Browser, topic: str, query: Query, **more: object) -> tuple[list[Record], Progress]:
    found: list[Record] = []
    async with asyncio.timeout(60), aclosing(browser.search(topic, query, **more)) as updates:  # type: ignore[arg-type]
        async for update in updates:
            found += update.records
    assert update.progress.done
    assert update.progress.share == 1.0
    return found, update.progress


def bytes_of(message: Message) -> list[bytes]:
    """Key, value and the values of headers: what a text is looked for in."""
    headers = [each[1] for each in message.headers() or ()]
    return [each for each in (message.key(), message.value(), *headers) if isinstance(each, bytes)]


def has(text: bytes) -> Judge:
    return lambda message: any(text in each for each in bytes_of(message))


def fits(pattern: bytes) -> Judge:
    return lambda message: any(re.search(pattern, each) for each in bytes_of(message))


def value(message: Message) -> dict[str, Any]:
    try:
        found = json.loads(message.value() or b"")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@pytest.fixture(scope="module")
def mixed(bootstrap: str) -> str:
    """10,000 records of every codec, in transactions that were committed and aborted, with headers and nulls."""
    topic = "browse-search-mixed"
    admin = AdminClient({"bootstrap.servers": bootstrap})
    from confluent_kafka.admin import NewTopic

    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(20)
    chance = random.Random(7)
    for codec in CODECS:
        for committed in (None, True, False):
            more = {} if committed is None else {"transactional_id": f"{topic}-{codec}-{committed}"}
            sender = producer(bootstrap, compression_type=codec, **more)
            if committed is not None:
                sender.init_transactions(30)
                sender.begin_transaction()
            for number in range(600):
                write_one(sender, topic, chance, f"{codec}-{committed}-{number}")
            if committed is None:
                assert sender.flush(30) == 0
            elif committed:
                sender.commit_transaction(30)
            else:
                sender.flush(30)
                sender.abort_transaction(30)
    return topic


def write_one(sender: object, topic: str, chance: random.Random, name: str) -> None:
    body: bytes | None = json.dumps({"name": name, "price": chance.randrange(100), "tags": ["é", "x"]}).encode()
    if chance.random() < 0.1:
        body = chance.choice([None, b"", b"plain text", b"\xff\xfe\x00", b'{"name": "esc\\u0061ped", "price": 5}'])
    key = chance.choice([None, b"", b"k1", b"key-%d" % chance.randrange(50)])
    headers = [("trace", b"t%d" % chance.randrange(1000))] if chance.random() < 0.2 else None
    sender.produce(topic, body, key, chance.randrange(PARTITIONS), headers=headers)  # type: ignore[attr-defined]


QUERIES: dict[str, tuple[Query, Judge]] = {
    "text": (Query("text", "lz4-None-17"), has(b"lz4-None-17")),
    "text of many": (Query("text", "price"), has(b"price")),
    "text of none": (Query("text", "nowhere at all"), has(b"nowhere at all")),
    "text in headers": (Query("text", "t77"), has(b"t77")),
    "text of nothing": (Query("text", ""), has(b"")),
    "text in the key": (Query("text", "-1", in_key=True), lambda message: b"-1" in (message.key() or b"")),
    "any case": (Query("text", "PLAIN Text", ignore_case=True), has(b"plain text")),
    "regex": (Query("regex", r"zstd-\w+-5\d\d"), fits(rb"zstd-\w+-5\d\d")),
    "regex with anchors": (Query("regex", r"^key-\d$"), fits(rb"^key-\d\Z")),
    "regex with boundaries": (Query("regex", r"\bplain\b"), fits(rb"\bplain\b")),
    "regex across records": (Query("regex", r'name.*"price": 9\d'), fits(rb'name.*"price": 9\d')),
    "regex of everything": (Query("regex", "x*"), fits(b"x*")),
    "key": (Query("key", "key-17"), lambda message: message.key() == b"key-17"),
    "key of many": (Query("key", data=b"k1"), lambda message: message.key() == b"k1"),
    "empty key": (Query("key", ""), lambda message: message.key() == b""),
    "expression": (
        Query("expression", ".price > 97"),
        lambda m: isinstance(p := value(m).get("price"), int) and p > 97,
    ),
    "expression by literal": (
        Query("expression", '.name == "gzip-True-33"'),
        lambda message: value(message).get("name") == "gzip-True-33",
    ),
    "expression of an escaped text": (
        Query("expression", '.name == "escaped"'),
        lambda message: value(message).get("name") == "escaped",
    ),
    "expression of what is not there": (
        Query("expression", "value == null and not has(.name)"),
        lambda message: message.value() is None,
    ),
    "expression of offsets": (
        Query("expression", "partition == 1 and offset < 40"),
        lambda message: message.partition() == 1 and (message.offset() or 0) < 40,
    ),
}


SOME = ["text", "text of many", "regex with anchors", "key of many", "expression"]


@pytest.mark.parametrize("committed", [False, True])
def test_a_search_finds_what_a_plain_loop_finds(bootstrap: str, mixed: str, committed: bool) -> None:
    read = everything(bootstrap, mixed, PARTITIONS, committed=committed)

    async def story(browser: Browser) -> None:
        names = SOME if committed else QUERIES
        for name, (query, judge) in ((each, QUERIES[each]) for each in names):
            found, progress = await collect(browser, mixed, query, keep=10_000, read_committed=committed)
            expected = {(each.partition(), each.offset()) for each in read if judge(each)}
            assert {(each.partition, each.offset) for each in found} == expected, name
            assert len(found) == len(expected) == progress.found == progress.kept, name
            assert (progress.records, progress.unreadable, progress.lost) == (len(read), 0, 0), name
            assert bool(expected) == (name != "text of none"), name

    browse(bootstrap, story)


def test_the_count_is_exact_beyond_what_is_kept(bootstrap: str, mixed: str) -> None:
    read = everything(bootstrap, mixed, PARTITIONS)

    async def story(browser: Browser) -> None:
        found, progress = await collect(browser, mixed, Query("text", "price"), keep=25)
        assert (len(found), progress.kept) == (25, 25)
        assert progress.found == sum(map(has(b"price"), read))
        everyone, _ = await collect(browser, mixed, Query("expression", "offset >= 0"), keep=1, whole=True)
        assert len(everyone) == len(read)

    browse(bootstrap, story)


def test_ranges_by_offset_time_and_partition(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 2)
    sender = producer(bootstrap)
    for number in range(1_000):
        sender.produce(topic, b"x%d" % number, partition=number % 2, timestamp=1_700_000_000_000 + number)
    sender.flush(30)

    async def story(browser: Browser) -> None:
        async def offsets(spans: dict[int, Span]) -> set[tuple[int, int]]:
            found, progress = await collect(browser, topic, Query("text", "x"), spans=spans, keep=5_000)
            assert progress.records == len(found)
            return {(each.partition, each.offset) for each in found}

        time_ms = 1_700_000_000_000
        spans = await browser.spans(topic, Bound("time", time_ms + 100), Bound("time", time_ms + 110))
        assert await offsets(spans) == {(number % 2, number // 2) for number in range(100, 110)}
        tail = await browser.spans(topic, Bound("tail", 3))
        assert await offsets(tail) == {(part, at) for part in (0, 1) for at in (497, 498, 499)}
        one = await browser.spans(topic, Bound("offset", 490), Bound("offset", 9_999), [1])
        assert await offsets(one) == {(1, at) for at in range(490, 500)}
        nothing = await browser.spans(topic, Bound("offset", 30), Bound("offset", 20))
        assert await offsets(nothing) == set()

    browse(bootstrap, story)


def test_a_search_that_is_closed_leaves_no_process(bootstrap: str, mixed: str) -> None:
    from barnabas.browse.search import process as module

    started: list[module.SearchProcess] = []

    async def story(browser: Browser) -> None:
        original = module.SearchProcess.begin

        async def begin(self: module.SearchProcess, task: object) -> None:
            started.append(self)
            await original(self, task)  # type: ignore[arg-type]

        module.SearchProcess.begin = begin  # type: ignore[method-assign]
        try:
            updates = browser.search(mixed, Query("text", "price"))
            await anext(updates)
            begun = time.monotonic()
            await updates.aclose()
            assert time.monotonic() - begun < 5
        finally:
            module.SearchProcess.begin = original  # type: ignore[method-assign]

    browse(bootstrap, story)
    assert [each._process.returncode is not None for each in started] == [True]


def test_what_cannot_be_searched_for_is_said(bootstrap: str, mixed: str) -> None:
    async def story(browser: Browser) -> None:
        with pytest.raises(BadExpression, match="RE2 knows no regular expression"):
            await collect(browser, mixed, Query("regex", "(a"))
        with pytest.raises(BadExpression, match="write == to compare"):
            await collect(browser, mixed, Query("expression", ".a = 1"))
        with pytest.raises(NoSuchTopic):
            await collect(browser, "nowhere", Query("text", "x"))

    browse(bootstrap, story)
