"""Pages of a real node's topics: newest first and onwards, holes, every codec, transactions, large records."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.browse import BEGINNING, NEWEST, Browser, NoSuchRecord, NoSuchTopic, Page, Record, at_time, from_offset
from barnabas.browse.places import parse
from barnabas.model.limits import SHOWN_VALUE_MAX_BYTES
from tests.support.browsing import browse, everything, producer

Create = Callable[..., str]
BEGUN_MS = 1_700_000_000_000


async def all_pages(browser: Browser, topic: str, first: Page, *, older: bool, count: int) -> list[Record]:
    """From page to page by its cursors, as text, until there is nothing left."""
    found = list(first.records)
    page = first
    while page.records:
        place = page.older if older else page.newer
        if place is None:
            break
        page = await browser.page(topic, parse(place.text()), count)
        found += page.records
    return found


def fill(bootstrap: str, topic: str, count: int, partitions: int, **settings: object) -> None:
    """Records with timestamps a millisecond apart, from one partition to the next."""
    sender = producer(bootstrap, **settings)
    for number in range(count):
        sender.produce(topic, b"value-%d" % number, b"k%d" % number, number % partitions, timestamp=BEGUN_MS + number)
        sender.poll(0)
    assert sender.flush(30) == 0


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_both_ways_through_a_topic_of_every_codec(bootstrap: str, create: Create, topic: str, codec: str) -> None:
    create(topic, 3)
    fill(bootstrap, topic, 500, 3, compression_type=codec)

    async def story(browser: Browser) -> None:
        newest = await browser.page(topic, NEWEST, 40)
        assert [each.value for each in newest.records] == [b"value-%d" % number for number in range(499, 459, -1)]
        back = await all_pages(browser, topic, newest, older=True, count=40)
        assert [each.timestamp - BEGUN_MS for each in back] == list(range(499, -1, -1))
        onwards = await all_pages(browser, topic, await browser.page(topic, BEGINNING, 70), older=False, count=70)
        assert onwards == list(reversed(back))
        middle = await browser.page(topic, at_time(BEGUN_MS + 200), 5)
        assert [each.timestamp - BEGUN_MS for each in middle.records] == [200, 201, 202, 203, 204]
        assert middle.older is not None
        before = await browser.page(topic, middle.older, 3)
        assert [each.timestamp - BEGUN_MS for each in before.records] == [199, 198, 197]
        one = await browser.page(topic, from_offset(7, [1]), 2)
        assert [(each.partition, each.offset) for each in one.records] == [(1, 7), (1, 8)]
        assert (await browser.one(topic, 1, 7)).value == one.records[0].value

    browse(bootstrap, story)


def test_null_keys_and_values_and_headers_are_what_they_are(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 1)
    sender = producer(bootstrap)
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("a", b"2"), ("empty", b""), ("none", None)]
    sender.produce(topic, None, b"tombstone", 0)
    sender.produce(topic, b"", None, 0, headers=headers)
    sender.flush(30)

    async def story(browser: Browser) -> None:
        page = await browser.page(topic, BEGINNING)
        first, second = page.records
        assert (first.key, first.value, first.value_bytes, first.truncated) == (b"tombstone", None, -1, ())
        assert (second.key, second.value, second.headers) == (None, b"", tuple(headers))
        assert (first.timestamp_type, first.producer_id, first.leader_epoch) == ("create", -1, 0)
        assert page.newer.offsets == {0: 2}
        assert page.older is None

    browse(bootstrap, story)


def test_the_newest_of_a_log_full_of_holes_are_found(bootstrap: str, create: Create, topic: str) -> None:
    """Aborted transactions and their markers: offsets far from the end may be the newest that can be seen."""
    create(topic, 1)
    fill(bootstrap, topic, 300, 1)
    sender = producer(bootstrap, transactional_id=f"{topic}-id")
    sender.init_transactions(30)
    for number in range(40):
        sender.begin_transaction()
        for _ in range(20):
            sender.produce(topic, b"aborted-%d" % number, partition=0)
        sender.flush(30)
        sender.abort_transaction(30)
    sender.begin_transaction()
    sender.produce(topic, b"committed", partition=0)
    sender.commit_transaction(30)
    seen = [each.value() for each in everything(bootstrap, topic, 1, committed=True)]

    async def story(browser: Browser) -> None:
        newest = await browser.page(topic, NEWEST, 3, read_committed=True)
        assert [each.value for each in newest.records] == [b"committed", b"value-299", b"value-298"]
        place, found = newest.older, list(newest.records)
        while place is not None:
            page = await browser.page(topic, place, 50, read_committed=True)
            found += page.records
            place = page.older
        assert [each.value for each in reversed(found)] == seen
        uncommitted = await browser.page(topic, NEWEST, 3)
        assert [each.value for each in uncommitted.records] == [b"committed", b"aborted-39", b"aborted-39"]
        with pytest.raises(NoSuchRecord, match="marker"):
            await browser.one(topic, 0, newest.ends[0] - 1)

    browse(bootstrap, story)


def test_a_topic_whose_beginning_was_deleted(bootstrap: str, create: Create, topic: str, admin: AdminClient) -> None:
    create(topic, 2)
    fill(bootstrap, topic, 400, 2)
    for future in admin.delete_records([TopicPartition(topic, 0, 150)]).values():
        future.result(20)

    async def story(browser: Browser) -> None:
        page = await browser.page(topic, from_offset(3, [0]), 2)
        assert [each.offset for each in page.records] == [150, 151]
        assert (page.starts, page.older) == ({0: 150}, None)
        back = await all_pages(browser, topic, await browser.page(topic, NEWEST, 90), older=True, count=90)
        assert len(back) == 250
        with pytest.raises(NoSuchRecord, match="begins at 150 and ends at 200"):
            await browser.one(topic, 0, 3)
        with pytest.raises(NoSuchRecord, match="begins at 150"):
            await browser.one(topic, 0, 10_000)

    browse(bootstrap, story)


def test_a_record_of_ten_megabytes_is_cut_in_a_page_and_whole_alone(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 1, max_message_bytes=str(20 << 20))
    sender = producer(bootstrap, message_max_bytes=20 << 20)
    large = b"x" * (10 << 20)
    for number in range(12):
        sender.produce(topic, large + b"%d" % number, b"k" * 100_000, 0, headers=[("h", b"y" * 200_000)])
        sender.flush(30)
    sender.produce(topic, b"small", partition=0)
    sender.flush(30)

    async def story(browser: Browser) -> None:
        begun = time.monotonic()
        page = await browser.page(topic, NEWEST, 50)
        assert page.records[0].value == b"small"
        cut = page.records[1]
        assert cut.value is not None
        assert len(cut.value) == SHOWN_VALUE_MAX_BYTES
        assert (cut.value_bytes, cut.key_bytes) == ((10 << 20) + 2, 100_000)
        assert cut.truncated == ("key", "value", "headers")
        assert len(page.records) < 13
        assert time.monotonic() - begun < 5
        back = await all_pages(browser, topic, page, older=True, count=50)
        assert [each.offset for each in back] == list(range(12, -1, -1))
        assert (await browser.one(topic, 0, 3)).value == large + b"3"

    browse(bootstrap, story)


def test_what_is_not_there_is_said(bootstrap: str, create: Create, topic: str) -> None:
    async def nothing(browser: Browser) -> None:
        with pytest.raises(NoSuchTopic, match="there is no topic 'nowhere'"):
            await browser.page("nowhere", NEWEST)

    browse(bootstrap, nothing)
    create(topic, 2)

    async def story(browser: Browser) -> None:
        with pytest.raises(NoSuchTopic, match="has no partition 5: it has 2"):
            await browser.page(topic, NEWEST, 10, [0, 5])
        page = await browser.page(topic, NEWEST)
        assert (page.records, page.older, page.ends) == ([], None, {0: 0, 1: 0})

    browse(bootstrap, story)
