"""Committed offsets: metadata, reading back, resetting, deleting, by several clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.testing import running_node
from tests.support.members import QUIET, Member, until, write
from tests.support.wire import OFFSET_DELETE, WireClient

pytestmark = pytest.mark.timeout(60)
Create = Callable[..., str]


def test_metadata_comes_back_to_another_client(bootstrap: str, create: Create, topic: str, group: str) -> None:
    create(topic, 3)
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group})
    notes = {0: "plain", 1: "zwölf €", 2: ""}
    consumer.commit(
        offsets=[TopicPartition(topic, p, 7 + p, metadata=note) for p, note in notes.items()], asynchronous=False
    )
    back = consumer.committed([TopicPartition(topic, p) for p in notes], timeout=10)
    assert [(p.offset, p.metadata or "") for p in back] == [(7 + p, note) for p, note in notes.items()]
    consumer.close()

    from kafka import KafkaAdminClient
    from kafka import TopicPartition as PythonPartition

    other = KafkaAdminClient(bootstrap_servers=bootstrap)
    found = (
        other.list_group_offsets(group)
        if hasattr(other, "list_group_offsets")
        else other.list_consumer_group_offsets(group)
    )
    found = found.get(group, found)
    # librdkafka counts the zero at the end of its C string as part of the text; what it sent comes back unchanged
    assert {p: found[PythonPartition(topic, p)].metadata for p in notes} == {
        p: note + "\0" for p, note in notes.items()
    }
    other.close()


def test_aiokafka_commits_by_hand(bootstrap: str, create: Create, topic: str, group: str) -> None:
    from aiokafka import AIOKafkaConsumer
    from aiokafka import TopicPartition as AioPartition

    create(topic)
    write(bootstrap, topic, [b"%d" % i for i in range(10)])

    async def read(count: int) -> list[bytes]:
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            values = [(await asyncio.wait_for(consumer.getone(), 20)).value for _ in range(count)]
            await consumer.commit()
            assert await consumer.committed(AioPartition(topic, 0)) is not None
            return values
        finally:
            await consumer.stop()

    assert asyncio.run(read(4)) == [b"0", b"1", b"2", b"3"]
    assert asyncio.run(read(3)) == [b"4", b"5", b"6"]


def test_reset_by_an_administrator(bootstrap: str, create: Create, topic: str, group: str, admin: AdminClient) -> None:
    """Only of a group nobody is in; then the group reads again from there."""
    create(topic)
    write(bootstrap, topic, [b"%d" % i for i in range(20)])
    first = Member(bootstrap, group, [topic])
    until(lambda: len(first.read) == 20, "all read")
    moved = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 5)])
    refused = admin.alter_consumer_group_offsets([moved])[group].result(10).topic_partitions[0].error
    assert refused is not None
    assert refused.code() == KafkaError.UNKNOWN_MEMBER_ID
    first.close()
    admin.alter_consumer_group_offsets([moved])[group].result(10)
    listed = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(10)
    assert [(p.topic, p.partition, p.offset) for p in listed.topic_partitions] == [(topic, 0, 5)]
    again = Member(bootstrap, group, [topic])
    until(lambda: len(again.read) == 15, "read again from 5")
    assert again.values() == [b"%d" % i for i in range(5, 20)]
    again.close()


def test_deleting_offsets_and_groups(
    bootstrap: str, create: Create, topic: str, group: str, admin: AdminClient, wire: WireClient
) -> None:
    create(topic, 2)
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 4)], asynchronous=False)
    answer = wire.call(
        OFFSET_DELETE, 0, {"group_id": group, "topics": [{"name": topic, "partitions": [{"partition_index": 0}]}]}
    )
    assert answer["error_code"] == 0
    assert [p.offset for p in consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=10)] == [
        -1001,
        4,
    ]
    consumer.close()
    admin.delete_consumer_groups([group])[group].result(10)
    with pytest.raises(KafkaException) as gone:
        admin.delete_consumer_groups([group])[group].result(10)
    assert gone.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND


def test_deleting_a_topic_forgets_its_offsets(
    bootstrap: str, create: Create, topic: str, group: str, admin: AdminClient
) -> None:
    """A topic of the same name made later starts with no past."""
    create(topic)
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    admin.delete_topics([topic])[topic].result(10)
    until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone", 10)
    create(topic)

    def forgotten() -> bool:
        return consumer.committed([TopicPartition(topic, 0)], timeout=10)[0].offset == -1001

    until(forgotten, "the offset is forgotten", 10)
    consumer.close()


def test_asking_where_an_empty_partition_begins_and_ends_makes_no_log(tmp_path: Path) -> None:
    """A console or an exporter asks that of every partition, again and again."""
    with running_node(data_dir=tmp_path) as node:
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic("unused", 3, 1)])["unused"].result(30)
        consumer = Consumer({"bootstrap.servers": node.bootstrap, "group.id": "none"})
        for partition in range(3):
            found = consumer.get_watermark_offsets(TopicPartition("unused", partition), timeout=30)
            assert found == (0, 0)
        consumer.close()
        assert not list(tmp_path.glob("unused-*"))
        producer = Producer({"bootstrap.servers": node.bootstrap})
        producer.produce("unused", b"x", partition=1)
        assert producer.flush(30) == 0
        assert [path.name for path in tmp_path.glob("unused-*")] == ["unused-1"]
