"""Transactions from Python, against a real server: whole or not at all, and a consumer's places with them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from barnabas import (
    Admin,
    AsyncConsumer,
    AsyncProducer,
    BadSetting,
    BarnabasError,
    Closed,
    Consumer,
    Fenced,
    Producer,
)

WAIT_S = 60.0


def values(bootstrap: str, topic: str, **options: Any) -> list[bytes]:
    with Consumer(topic, bootstrap=bootstrap, follow=False, **options) as consumer:
        return [message.value for message in consumer]


def fill(bootstrap: str, topic: str, count: int, partitions: int = 1) -> list[bytes]:
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, partitions=partitions)
        admin.create_topic(f"{topic}-out", partitions=partitions)
    records = [b"%d" % number for number in range(count)]
    with Producer(bootstrap) as producer:
        for number, record in enumerate(records):
            producer.send(topic, record, partition=number % partitions)
    return records


def reading(bootstrap: str, topic: str, **options: Any) -> Consumer:
    return Consumer(topic, bootstrap=bootstrap, group=f"group-{topic}", commit="manual", **{"timeout": 3.0, **options})


# --- a block -------------------------------------------------------------------------------------------------------


def test_the_end_of_the_block_commits(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap, transactional_id=topic) as producer:
        with producer.transaction():
            producer.send(topic, "one")
            assert producer.send(f"{topic}-2", "two").result(WAIT_S).offset == 0
            assert values(bootstrap, f"{topic}-2") == [], "not read before it is committed"
        assert values(bootstrap, topic) == [b"one"] and values(bootstrap, f"{topic}-2") == [b"two"]
        with producer.transaction():
            pass
        with producer.transaction():
            producer.send(topic, "three")
    assert values(bootstrap, topic) == [b"one", b"three"]


def test_an_exception_aborts(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap, transactional_id=topic) as producer:
        with pytest.raises(KeyError, match="mine"), producer.transaction():
            producer.send(topic, "gone").result(WAIT_S)
            producer.send(topic, "gone in the queue")
            raise KeyError("mine")
        with pytest.raises(KeyboardInterrupt), producer.transaction():
            producer.send(topic, "gone too")
            raise KeyboardInterrupt
        with producer.transaction() as transaction:
            producer.send(topic, "taken back")
            transaction.abort()
            with pytest.raises(BarnabasError, match="in transactions only"):
                producer.send(topic, "too late")
        with producer.transaction():
            producer.send(topic, "stays")
    assert values(bootstrap, topic) == [b"stays"]
    assert b"gone" in values(bootstrap, topic, isolation_level="read_uncommitted")


def test_a_newer_producer_fences_the_older(bootstrap: str, topic: str) -> None:
    old, new = Producer(bootstrap, transactional_id=topic), Producer(bootstrap, transactional_id=topic)
    with old.transaction():
        old.send(topic, "old")
    transaction = old.transaction()
    transaction.begin()
    old.send(topic, "never").result(WAIT_S)
    with new.transaction():
        new.send(topic, "new")
    with pytest.raises(Fenced, match="a newer producer with the same transactional id"):
        transaction.commit()
    for _ in range(2):
        with pytest.raises(Fenced), old.transaction():
            old.send(topic, "nor this")
    old.close()
    with new.transaction():
        new.send(topic, "newer")
    new.close()
    assert values(bootstrap, topic) == [b"old", b"new", b"newer"]


def test_a_fenced_producer_is_told_by_its_record_too(bootstrap: str, topic: str) -> None:
    with Producer(bootstrap, transactional_id=topic) as old, Producer(bootstrap, transactional_id=topic) as new:
        with old.transaction():
            pass
        with new.transaction():
            new.send(topic, "new")
        with pytest.raises(Fenced), old.transaction():
            old.send(topic, "old").result(WAIT_S)


def test_a_transaction_that_outlasts_its_timeout_is_fenced(bootstrap: str, topic: str) -> None:
    producer = Producer(bootstrap, transactional_id=topic, transaction_timeout=1)
    with pytest.raises(Fenced, match="longer than its timeout"), producer.transaction():
        producer.send(topic, "slow").result(WAIT_S)
        with Producer(bootstrap) as other:
            other.send(topic, "behind it")
        with Consumer(topic, bootstrap=bootstrap, timeout=WAIT_S) as reader:
            assert next(reader).value == b"behind it"
    producer.close()
    assert values(bootstrap, topic) == [b"behind it"]


def test_what_makes_no_sense_is_refused_in_a_line(bootstrap: str, topic: str) -> None:
    with pytest.raises(BadSetting, match="transactional_id="):
        Producer(bootstrap).transaction()
    with pytest.raises(BadSetting, match="acks"):
        Producer(bootstrap, transactional_id=topic, acks=1)
    with pytest.raises(BadSetting, match="is a name"):
        Producer(bootstrap, transactional_id="")
    producer = Producer(bootstrap, transactional_id=topic)
    with pytest.raises(BarnabasError, match="in transactions only"):
        producer.send(topic, "outside")
    with pytest.raises(BadSetting, match='commit="manual"'):
        producer.transaction(consumer=Consumer(topic, bootstrap=bootstrap, group=topic))
    block = producer.transaction()
    with block:
        with pytest.raises(BarnabasError, match="one is open already"), producer.transaction():
            pass
        producer.send(topic, "inside")
    with pytest.raises(BarnabasError, match="is over"), block:
        pass
    producer.close()
    with pytest.raises(Closed), producer.transaction():
        pass
    assert values(bootstrap, topic) == [b"inside"]


def test_a_closed_producer_leaves_nothing_open(bootstrap: str, topic: str) -> None:
    producer = Producer(bootstrap, transactional_id=topic)
    producer.transaction().begin()
    producer.send(topic, "never").result(WAIT_S)
    producer.close()
    with Producer(bootstrap) as other:
        other.send(topic, "at once")
    with Consumer(topic, bootstrap=bootstrap, timeout=10) as consumer:
        assert next(consumer).value == b"at once"


# --- with a consumer -----------------------------------------------------------------------------------------------


def test_places_move_with_the_records(bootstrap: str, topic: str) -> None:
    records = fill(bootstrap, topic, 10)
    tries = 0
    with Producer(bootstrap, transactional_id=topic) as producer, reading(bootstrap, topic) as consumer:
        while True:
            try:
                for message in consumer:
                    with producer.transaction(consumer=consumer):
                        tries += 1
                        producer.send(f"{topic}-out", message.value)
                        if tries in (1, 4, 9):
                            raise InterruptedError
                break
            except InterruptedError:
                assert consumer.positions() == {(topic, 0): int(message.value)}
        assert consumer.committed() == {(topic, 0): 10}
    assert values(bootstrap, f"{topic}-out") == records


def test_send_offsets_by_hand(bootstrap: str, topic: str) -> None:
    records = fill(bootstrap, topic, 6)
    with Producer(bootstrap, transactional_id=topic) as producer:
        with reading(bootstrap, topic, max_records=3) as consumer, producer.transaction() as transaction:
            for message in consumer:
                producer.send(f"{topic}-out", message.value)
            transaction.send_offsets(consumer)
        with reading(bootstrap, topic, max_records=3) as consumer, producer.transaction():
            for message in consumer:
                producer.send(f"{topic}-out", message.value)  # and the places are forgotten
        with reading(bootstrap, topic) as consumer:
            assert next(consumer).value == b"3"
    assert values(bootstrap, f"{topic}-out") == records


# --- asyncio -------------------------------------------------------------------------------------------------------


def test_asyncio(bootstrap: str, topic: str) -> None:
    records = fill(bootstrap, topic, 20)

    async def run() -> None:
        async with AsyncProducer(bootstrap, transactional_id=topic) as producer:
            with pytest.raises(BarnabasError, match="in transactions only"):
                await producer.send(f"{topic}-out", b"outside")
            lost = None
            with pytest.raises(KeyError):
                async with producer.transaction():
                    lost = await producer.enqueue(f"{topic}-out", b"aborted")
                    raise KeyError
            assert lost is not None
            await asyncio.wait([lost], timeout=WAIT_S)
            options: Any = {"group": f"g-{topic}", "commit": "manual", "max_records": 20}
            async with AsyncConsumer(topic, bootstrap=bootstrap, **options) as consumer:
                async for message in consumer:
                    async with producer.transaction(consumer=consumer):
                        await producer.enqueue(f"{topic}-out", message.value)
                assert await consumer.committed() == {(topic, 0): 20}

            async def waits() -> None:
                async with producer.transaction():
                    await producer.send(f"{topic}-out", b"cancelled")
                    await asyncio.sleep(WAIT_S)

            task = asyncio.create_task(waits())
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with AsyncProducer(bootstrap, transactional_id=topic) as newer, newer.transaction():
                pass
            with pytest.raises(Fenced):
                async with producer.transaction():
                    await producer.send(f"{topic}-out", b"fenced")

    asyncio.run(run())
    assert values(bootstrap, f"{topic}-out") == records
