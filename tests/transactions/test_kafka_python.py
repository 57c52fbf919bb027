"""kafka-python 3, which speaks the newest versions of every API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.structs import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

from tests.support.members import until
from tests.transactions.readers import values

pytestmark = pytest.mark.timeout(120)
Create = Callable[..., str]


def producer(bootstrap: str, name: str, **more: Any) -> KafkaProducer:
    made = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name, **more)
    made.init_transactions()
    return made


def read(bootstrap: str, topic: str, level: str) -> list[bytes]:
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=level, auto_offset_reset="earliest", enable_auto_commit=False
    )
    part = TopicPartition(topic, 0)
    consumer.assign([part])
    end, found = consumer.end_offsets([part])[part], []
    while consumer.position(part) < end:
        for messages in consumer.poll(timeout_ms=500).values():
            found += [message.value for message in messages]
    consumer.close()
    return found


def test_commit_and_abort(bootstrap: str, create: Create, topic: str) -> None:
    create(topic)
    writer = producer(bootstrap, topic)
    for number in range(6):
        writer.begin_transaction()
        for i in range(5):
            writer.send(topic, b"%d.%d" % (number, i))
        writer.commit_transaction() if number % 2 else writer.abort_transaction()
    writer.close()
    good = [b"%d.%d" % (n, i) for n in (1, 3, 5) for i in range(5)]
    assert read(bootstrap, topic, "read_committed") == good
    assert set(good) <= set(read(bootstrap, topic, "read_uncommitted"))
    assert values(bootstrap, topic) == good


def test_a_zombie_is_fenced(bootstrap: str, create: Create, topic: str) -> None:
    create(topic)
    first = producer(bootstrap, topic)
    first.begin_transaction()
    first.send(topic, b"left behind").get(10)
    second = producer(bootstrap, topic)
    second.begin_transaction()
    second.send(topic, b"kept")
    second.commit_transaction()
    with pytest.raises(KafkaError):
        first.send(topic, b"zombie").get(10)
        first.commit_transaction()
    first.close(1)
    second.close()
    assert read(bootstrap, topic, "read_committed") == [b"kept"]


def test_offsets_with_the_records(bootstrap: str, create: Create, topic: str, group: str) -> None:
    create(topic)
    part = TopicPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False)
    writer = producer(bootstrap, topic)
    for offset, commit, expected in ((3, False, None), (5, True, 5), (9, False, 5)):
        writer.begin_transaction()
        writer.send(topic, b"%d" % offset)
        writer.send_offsets_to_transaction({part: OffsetAndMetadata(offset, "", -1)}, ConsumerGroupMetadata(group))
        writer.commit_transaction() if commit else writer.abort_transaction()
        until(lambda: consumer.committed(part) == expected, f"the offset is {expected}")  # noqa: B023
    writer.close()
    consumer.close()
    assert read(bootstrap, topic, "read_committed") == [b"5"]
