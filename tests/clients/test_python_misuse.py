"""The Python library used wrongly: each mistake is a BarnabasError, and its one line says what to do instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import (
    Admin,
    AsyncProducer,
    BadSetting,
    BarnabasError,
    Closed,
    Consumer,
    Producer,
    SerializationError,
    TopicPartition,
    UnknownTopic,
)
from barnabas.testing import running_node


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A node whose topic "orders" has one partition with three records."""
    with running_node({"group.initial.rebalance.delay.ms": 0}) as node:
        with Producer(node.bootstrap) as producer:
            producer.send_many("orders", [b"0", b"1", b"2"])
            producer.send("other", b"0")
        yield node.bootstrap


def _look_up(value: object) -> bytes:
    raise KeyError("price")


@pytest.mark.parametrize(
    ("send", "kind", "text"),
    [
        (lambda p: p.send("other", "x", partition=9).result(9), UnknownTopic, "it has no partition 9"),
        (
            lambda p: (p.send("other", "x").result(9), p.send("other", "x", partition=9)),
            UnknownTopic,
            "no partition 9",
        ),
        (lambda p: p.send("two words", "x").result(9), BarnabasError, "'two words': it cannot be a topic: only ASCII"),
        (lambda p: p.send("", "x").result(9), BarnabasError, "cannot be a topic: the name is empty"),
        (lambda p: p.send(7, "x"), BadSetting, "a topic's name is text"),
        (lambda p: p.send("other", "x", timestamp_ms=1.5), BadSetting, "timestamp_ms is a whole number, not 1.5"),
        (lambda p: p.send("other", "x", partition="0"), BadSetting, "partition is a whole number, not '0'"),
        (lambda p: p.send("other", "\ud800"), SerializationError, "surrogates not allowed"),
        (lambda p: p.send("other", bytearray(b"x")), SerializationError, "the value is a bytearray: send bytes"),
        (lambda p: p.send("__consumer_offsets", "x").result(9), BarnabasError, "the cluster takes no records for it"),
        (lambda p: p.send_many("other", "abc"), BadSetting, "not one str: use send"),
        (lambda p: p.send_many("other", b"abc"), BadSetting, "not one bytes: use send"),
    ],
)
def test_sends(bootstrap: str, send: Callable[[Producer], object], kind: type[BarnabasError], text: str) -> None:
    with Producer(bootstrap) as producer, pytest.raises(kind, match=text):
        send(producer)


def test_async_send_many_of_one_text(bootstrap: str) -> None:
    async def send() -> None:
        async with AsyncProducer(bootstrap) as producer:
            await producer.send_many("orders", "abc")

    with pytest.raises(BadSetting, match="not one str"):
        asyncio.run(send())


def test_a_serializer_that_raises_is_named(bootstrap: str) -> None:
    with (
        Producer(bootstrap, value_serializer=_look_up) as producer,
        pytest.raises(SerializationError, match="send to 'orders': KeyError: 'price'"),
    ):
        producer.send("orders", {})


@pytest.mark.parametrize(
    ("topics", "text"),
    [
        ([["orders", "paid"]], r"one by one: Consumer\('orders', 'paid'\), not as a list"),
        ([b"orders"], "a topic's name is text"),
        (["two words"], "'two words' cannot be a topic: only ASCII"),
        ([""], "cannot be a topic: the name is empty"),
        ([], "needs a topic"),
    ],
)
def test_topics_to_read(bootstrap: str, topics: list[Any], text: str) -> None:
    with pytest.raises(BadSetting, match=text):
        Consumer(*topics, bootstrap=bootstrap)


@pytest.mark.parametrize("group", [None, "readers"])
def test_a_closed_consumer(bootstrap: str, group: str | None) -> None:
    consumer = Consumer("orders", bootstrap=bootstrap, group=group)
    next(consumer)
    consumer.close()
    consumer.close()
    consumer.stop()
    uses: list[Callable[[], object]] = [
        lambda: next(consumer),
        lambda: list(consumer),
        lambda: consumer.poll(1),
        lambda: consumer.seek("end"),
        consumer.positions,
        consumer.lag,
        consumer.assignment,
    ]
    if group is not None:
        uses += [consumer.commit, consumer.committed]
    for use in uses:
        with pytest.raises(Closed, match="this consumer is closed"):
            use()


def test_a_loop_that_closes_its_consumer_just_ends(bootstrap: str) -> None:
    consumer = Consumer("orders", bootstrap=bootstrap)
    for _ in consumer:
        consumer.close()


def test_a_new_member_is_told_its_lag(bootstrap: str) -> None:
    """The group gives partitions a moment later; until then a lag of nothing would be a lie."""
    place = TopicPartition("orders", 0)
    for asked, expected in (("lag", 3), ("positions", 0), ("committed", None)):
        with Consumer("orders", bootstrap=bootstrap, group=f"new-{asked}") as consumer:
            assert getattr(consumer, asked)() == {place: expected}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"group": 5}, "a group's name is text, not 5"),
        ({"partitions": 0}, r"partitions is a list of their numbers, as in \[0, 3\], not 0"),
        ({"partitions": ["0"]}, "partitions is a list of their numbers"),
        ({"isolation_level": "committed"}, 'isolation_level is "read_committed" or "read_uncommitted"'),
    ],
)
def test_options_of_a_consumer(bootstrap: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(BadSetting, match=text):
        Consumer("orders", bootstrap=bootstrap, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"compression": "zip"}, "compression is one of none, gzip, snappy, lz4, zstd, not 'zip'"),
        ({"delivery_timeout": "5"}, "delivery_timeout is a number of seconds, not '5'"),
    ],
)
def test_options_of_a_producer(bootstrap: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises(BadSetting, match=text):
        Producer(bootstrap, **options)


@pytest.mark.parametrize("before", [-1, "first", 1.5, True, {0: -1}])
def test_a_place_to_delete_up_to(bootstrap: str, before: Any) -> None:
    """DeleteRecords takes -1 for all of them."""
    with Admin(bootstrap) as admin, pytest.raises(BadSetting, match="before is an offset from 0 on"):
        admin.delete_records("orders", before)
