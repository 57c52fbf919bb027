"""librdkafka (confluent-kafka), a client of the old generation: it names its partitions before it writes to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.support.members import until, write
from tests.transactions.readers import FAST, Beside, consumer, records, values

pytestmark = pytest.mark.timeout(120)
Create = Callable[..., str]


def producer(bootstrap: str, name: str, **more: Any) -> Producer:
    made = Producer({**FAST, "bootstrap.servers": bootstrap, "transactional.id": name, "linger.ms": 0, **more})
    made.init_transactions(20)
    return made


def test_commit_and_abort(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 3)
    beside = Beside(bootstrap, topic, 3)
    writer = producer(bootstrap, topic)
    for number in range(9):
        writer.begin_transaction()
        for i in range(30):
            writer.produce(topic, b"%d.%d" % (number, i), partition=i % 3)
        writer.flush(10)
        if number % 3 == 2:
            writer.abort_transaction(10)
        else:
            writer.commit_transaction(10)
    good = {b"%d.%d" % (n, i) for n in range(9) if n % 3 != 2 for i in range(30)}
    found = values(bootstrap, topic, partitions=3)
    assert sorted(found) == sorted(good)
    assert len(values(bootstrap, topic, "read_uncommitted", 3)) == 270
    until(lambda: len(beside.seen) == len(good), "the reader beside has read all")
    beside.stop()
    assert beside.values() == good


def test_an_open_transaction_is_not_seen_and_holds_the_rest_back(bootstrap: str, create: Create, topic: str) -> None:
    create(topic)
    writer = producer(bootstrap, topic)
    writer.begin_transaction()
    writer.produce(topic, b"open")
    writer.flush(10)
    write(bootstrap, topic, [b"plain"])
    assert values(bootstrap, topic) == []
    assert values(bootstrap, topic, "read_uncommitted") == [b"open", b"plain"]
    writer.commit_transaction(10)
    assert values(bootstrap, topic) == [b"open", b"plain"]


def test_a_zombie_is_fenced(bootstrap: str, create: Create, topic: str) -> None:
    """The second producer of an id ends what the first has begun, and the first can do nothing more."""
    create(topic)
    first = producer(bootstrap, topic)
    first.begin_transaction()
    first.produce(topic, b"left behind")
    first.flush(10)
    second = producer(bootstrap, topic)
    second.begin_transaction()
    second.produce(topic, b"kept")
    second.commit_transaction(10)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(10)
    assert refused.value.args[0].fatal(), refused.value
    assert refused.value.args[0].name() in ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH")
    errors: list[Any] = []
    with pytest.raises(KafkaException):
        first.begin_transaction()
        first.produce(topic, b"zombie", on_delivery=lambda error, _: errors.append(error))
        first.flush(10)
    assert values(bootstrap, topic) == [b"kept"]
    assert values(bootstrap, topic, "read_uncommitted") == [b"left behind", b"kept"]


def test_a_transaction_that_takes_too_long_is_aborted(bootstrap: str, create: Create, topic: str) -> None:
    create(topic)
    writer = producer(bootstrap, topic, **{"transaction.timeout.ms": 1000})
    writer.begin_transaction()
    writer.produce(topic, b"too late")
    writer.flush(10)
    write(bootstrap, topic, [b"behind it"])
    began = time.monotonic()
    until(lambda: values(bootstrap, topic) == [b"behind it"], "the transaction is aborted", 20)
    assert time.monotonic() - began < 15
    with pytest.raises(KafkaException):
        writer.commit_transaction(10)
    assert values(bootstrap, topic) == [b"behind it"]


def committed(bootstrap: str, group: str, topic: str, partitions: int) -> list[int]:
    reader = consumer(bootstrap, **{"group.id": group})
    found = reader.committed([TopicPartition(topic, p) for p in range(partitions)], timeout=20)
    reader.close()
    return [part.offset for part in found]


def reader_of(bootstrap: str, group: str, topic: str) -> Consumer:
    settings: dict[str, Any] = {"group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 6000}
    made = consumer(bootstrap, **settings)
    made.subscribe([topic])
    return made


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_consume_transform_produce(bootstrap: str, create: Create, topic: str, group: str, protocol: str) -> None:
    """Offsets move with what was made of them, or neither does; by members of either protocol."""
    source, target = create(f"in-{topic}", 2), create(f"out-{topic}", 2)
    write(bootstrap, source, [b"%d" % i for i in range(200)], 2)
    settings: dict[str, Any] = (
        {"group.protocol": "consumer"} if protocol == "consumer" else {"session.timeout.ms": 6000}
    )
    settings |= {"group.id": group, "auto.offset.reset": "earliest"}
    reader = consumer(bootstrap, **settings)
    reader.subscribe([source])
    writer = producer(bootstrap, topic)
    rounds = done = 0
    deadline = time.monotonic() + 60
    while done < 200:
        assert time.monotonic() < deadline, done
        batch: list[Any] = [m for m in reader.consume(40, 0.3) if not m.error()]
        if not batch:
            continue
        writer.begin_transaction()
        for message in batch:
            writer.produce(target, message.value() * 2, partition=message.partition())
        before = committed(bootstrap, group, source, 2)
        writer.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata(), 10)
        rounds += 1
        if rounds % 3 == 2:
            writer.abort_transaction(10)
            assert committed(bootstrap, group, source, 2) == before
            for part, offset in zip(range(2), before, strict=True):
                reader.seek(TopicPartition(source, part, max(offset, 0)))
        else:
            writer.commit_transaction(10)
            done += len(batch)
    reader.close()
    assert committed(bootstrap, group, source, 2) == [100, 100]
    for part in range(2):
        copied = [v for (p, _), v in sorted(records(bootstrap, target, partitions=2).items()) if p == part]
        assert copied == [b"%d" % i * 2 for i in range(200) if i % 2 == part]


def test_a_zombie_of_the_group_is_refused(bootstrap: str, create: Create, topic: str, group: str) -> None:
    """KIP-447: the group has moved on to another generation; who commits for the old one is told so."""
    source = create(f"in-{topic}", 2)
    write(bootstrap, source, [b"x"] * 10, 2)
    first = reader_of(bootstrap, group, source)
    until(lambda: bool(first.consume(1, 0.2)), "the first member reads")
    metadata = first.consumer_group_metadata()
    first.close()
    second = reader_of(bootstrap, group, source)
    until(lambda: bool(second.consume(1, 0.2)), "the second member reads")
    writer = producer(bootstrap, topic)
    writer.begin_transaction()
    with pytest.raises(KafkaException) as refused:
        writer.send_offsets_to_transaction([TopicPartition(source, 0, 5)], metadata, 10)
    assert refused.value.args[0].txn_requires_abort(), refused.value
    writer.abort_transaction(10)
    second.close()
    assert committed(bootstrap, group, source, 2)[0] < 0


def test_a_transaction_over_many_partitions(bootstrap: str, create: Create, topic: str) -> None:
    create(topic, 60)
    writer = producer(bootstrap, topic)
    for commit in (True, False, True):
        writer.begin_transaction()
        for part in range(60):
            writer.produce(topic, b"kept" if commit else b"dropped", partition=part)
        writer.commit_transaction(20) if commit else writer.abort_transaction(20)
    assert values(bootstrap, topic, partitions=60) == [b"kept"] * 120


def test_offsets_alone_on_a_fresh_server(make_node: Callable[..., Any], topic: str) -> None:
    """Nobody has asked for a group's coordinator before: the offsets' topic is made for the transaction."""
    bootstrap = make_node().bootstrap
    write(bootstrap, topic, [b"x"])
    writer = producer(bootstrap, "fresh")
    reader = Consumer({**FAST, "bootstrap.servers": bootstrap, "group.id": "fresh"})
    writer.begin_transaction()
    writer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], reader.consumer_group_metadata(), 20)
    writer.commit_transaction(20)
    reader.close()
    assert committed(bootstrap, "fresh", topic, 1) == [1]
