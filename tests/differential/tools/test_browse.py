"""The same pages, tails, searches and redrives on Apache Kafka and on a node, of what was written to each."""

from __future__ import annotations

import asyncio
import json
import uuid
from contextlib import aclosing

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.browse import NEWEST, Browser, NewRecord, NoSuchTopic, Query, at_time
from tests.support.browsing import browse, everything, producer
from tests.support.members import QUIET
from tests.support.servers import BarnabasNode, KafkaNode

BEGUN_MS = 1_700_000_000_000


@pytest.mark.parametrize("which", ["kafka", "node"])
def test_records_are_read_searched_and_sent(which: str, request: pytest.FixtureRequest) -> None:
    server: KafkaNode | BarnabasNode = request.getfixturevalue(which)
    bootstrap, topic = server.bootstrap, f"browse-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    for each in admin.create_topics([NewTopic(topic, 2, 1), NewTopic(f"{topic}-to", 2, 1)]).values():
        each.result(30)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        sender = producer(bootstrap, compression_type=codec)
        for number in range(200):
            body = json.dumps({"n": number, "codec": codec}).encode()
            sender.produce(topic, body, b"k%d" % number, number % 2, timestamp=BEGUN_MS + number, headers=[("h", b"v")])
        assert sender.flush(30) == 0
    transactional = producer(bootstrap, transactional_id=f"{topic}-id")
    transactional.init_transactions(30)
    for name in (b"aborted", b"committed"):
        transactional.begin_transaction()
        for number in range(40):
            transactional.produce(topic, name, partition=0, timestamp=BEGUN_MS + 10_000 + number)
        transactional.flush(30)
        if name == b"aborted":
            transactional.abort_transaction(30)
        else:
            transactional.commit_transaction(30)
    read = everything(bootstrap, topic, 2, committed=True)

    async def story(browser: Browser) -> None:
        newest = await browser.page(topic, NEWEST, 45, read_committed=True)
        assert [each.value for each in newest.records[:40]] == [b"committed"] * 40
        assert [json.loads(each.value or b"")["n"] for each in newest.records[40:]] == [199, 198, 197, 196, 195]
        place, count = newest.older, len(newest.records)
        while place is not None:
            page = await browser.page(topic, place, 200, read_committed=True)
            place, count = page.older, count + len(page.records)
        assert count == len(read) == 1_040
        by_time = await browser.page(topic, at_time(BEGUN_MS + 150), 3)
        assert {each.timestamp - BEGUN_MS >= 150 for each in by_time.records} == {True}
        for query, expected in [
            (Query("text", '"codec": "zstd"'), 200),
            (Query("regex", r'^\{"n": 1\d\d,'), 500),
            (Query("key", "k17"), 5),
            (Query("expression", '.n >= 190 and .codec in ["gzip", "lz4"]'), 20),
            (Query("text", "aborted"), 0),
        ]:
            async with aclosing(browser.search(topic, query, read_committed=True)) as updates:
                last = [update.progress async for update in updates][-1]
            assert (last.found, last.records) == (expected, 1_040), query
        async with aclosing(browser.redrive(topic, f"{topic}-to", Query("key", "k17"))) as events:
            assert [event.sent async for event in events][-1] == 5
        async with asyncio.timeout(60), aclosing(browser.tail(topic, read_committed=True)) as tail:
            await anext(tail)
            sent = await browser.send(topic, [NewRecord(b"live", b"now", (("x", None),))])
            async for event in tail:
                if event.records:
                    break
        record = event.records[0]
        assert (record.partition, record.offset, record.key, record.headers) == (*sent[0], b"live", (("x", None),))
        with pytest.raises(NoSuchTopic):
            await browser.page("nowhere-at-all", NEWEST)

    browse(bootstrap, story)
    assert len(everything(bootstrap, f"{topic}-to", 2)) == 5


@pytest.mark.parametrize("which", ["kafka", "node"])
def test_a_compacted_topic(which: str, request: pytest.FixtureRequest) -> None:
    """The holes that a cleaner leaves: the newest records are found behind them, and a search counts what is there."""
    server: KafkaNode | BarnabasNode = request.getfixturevalue(which)
    bootstrap, topic = server.bootstrap, f"compacted-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    settings = {
        "cleanup.policy": "compact",
        "segment.bytes": "1048576",
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.001",
        "min.compaction.lag.ms": "0",
    }
    admin.create_topics([NewTopic(topic, 1, 1, config=settings)])[topic].result(30)
    sender = producer(bootstrap)
    for number in range(6_000):
        sender.produce(topic, b"%d" % number, b"old-%d" % number if number < 30 else b"hot-%d" % (number % 7), 0)
    assert sender.flush(30) == 0

    async def story(browser: Browser) -> None:
        while True:  # the cleaner takes its time; a record now and then makes it close segments
            await asyncio.to_thread(_one_more, bootstrap, topic)
            page = await browser.page(topic, NEWEST, 5_000)
            if len(page.records) < 3_000:
                break
            await asyncio.sleep(0.5)
        few = await browser.page(topic, NEWEST, 40)
        again = await browser.page(topic, NEWEST, 5_000)
        assert [each.offset for each in again.records][: len(few.records)] == [each.offset for each in few.records]
        assert again.records[-1].offset == 0
        assert again.older is None
        async with aclosing(browser.search(topic, Query("expression", 'key startswith "old-"'))) as updates:
            last = [update.progress async for update in updates][-1]
        assert last.found == 30

    async def in_time(browser: Browser) -> None:
        async with asyncio.timeout(60):
            await story(browser)

    browse(bootstrap, in_time)


def _one_more(bootstrap: str, topic: str) -> None:
    sender = producer(bootstrap)
    sender.produce(topic, b"last", b"hot-0", 0)
    sender.flush(30)
