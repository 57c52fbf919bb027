"""Dead letters once more. Those of a sink go to NAME.redrive, which only that sink reads: other readers of the topic
see nothing of it. Those of a source go to the topic they were meant for."""

from __future__ import annotations

import time
from collections.abc import Iterator

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.dead_letters import PREFIX, TOPIC

_GROUP_SUFFIX = "-redrive"  # how far dead letters have been sent again
_WAIT_S = 30.0


def waiting(cluster: Cluster, definition: Definition) -> int:
    """Dead letters that have not been sent again."""
    return sum(end - begin for begin, end in _ranges(cluster, definition).values())


def redrive(cluster: Cluster, definition: Definition, *, again: bool = False, most: int | None = None) -> int:
    """Sends those that have not been sent again, or with `again` all of them; how many. Records and how far it got are
    one transaction, so a redrive that is interrupted goes on where it was."""
    ranges = _ranges(cluster, definition, again=again)
    if not any(end > begin for begin, end in ranges.values()):
        return 0
    producer = cluster.producer(transactional_id=definition.group + _GROUP_SUFFIX)
    consumer = _consumer(cluster, definition)
    sent = 0
    try:
        called(lambda: producer.init_transactions(_WAIT_S))
        called(producer.begin_transaction)
        reached: dict[int, int] = {}
        for message in _read(consumer, definition.dead_topic, ranges):
            if most is not None and sent >= most:
                break
            topic, headers = _destination(definition, message)
            producer.produce(
                topic,
                message.value(),
                message.key(),
                timestamp=message.timestamp()[1],
                headers=headers,  # type: ignore[arg-type]  # a list of another element type
            )
            producer.poll(0)
            partition, offset = message.partition(), message.offset()
            assert partition is not None and offset is not None
            reached[partition] = offset + 1
            sent += 1
        places = [TopicPartition(definition.dead_topic, each, offset) for each, offset in reached.items()]
        called(lambda: producer.send_offsets_to_transaction(places, consumer.consumer_group_metadata(), _WAIT_S))
        called(lambda: producer.commit_transaction(_WAIT_S))
    finally:
        consumer.close()
    return sent


def _destination(definition: Definition, message: Message) -> tuple[str, list[tuple[str, bytes | None]]]:
    headers: list[tuple[str, bytes | None]] = message.headers() or []  # type: ignore[assignment]  # names and bytes
    if definition.side == "sink":
        return definition.redrive_topic, headers
    intended = (dict(headers).get(TOPIC) or b"").decode() or definition.topic
    return intended, [each for each in headers if not each[0].startswith(PREFIX)]


def _ranges(cluster: Cluster, definition: Definition, *, again: bool = False) -> dict[int, tuple[int, int]]:
    """By partition: from where, and up to where."""
    partitions = cluster.partitions_of(definition.dead_topic)
    if not partitions:
        return {}
    consumer = _consumer(cluster, definition)
    try:
        places = [TopicPartition(definition.dead_topic, each) for each in partitions]
        committed = called(lambda: consumer.committed(places, timeout=_WAIT_S))
        found = {}
        for place in committed:
            low, high = called(lambda each=place: consumer.get_watermark_offsets(each, timeout=_WAIT_S))  # type: ignore[misc]
            begin = low if again or place.offset < 0 else max(low, place.offset)
            found[place.partition] = (begin, high)
        return found
    finally:
        consumer.close()


def _consumer(cluster: Cluster, definition: Definition) -> Consumer:
    return cluster.consumer(group_id=definition.group + _GROUP_SUFFIX, enable_partition_eof=True)


def _read(consumer: Consumer, topic: str, ranges: dict[int, tuple[int, int]]) -> Iterator[Message]:
    waiting = {partition for partition, (begin, end) in ranges.items() if end > begin}
    consumer.assign([TopicPartition(topic, each, ranges[each][0] or OFFSET_BEGINNING) for each in waiting])
    deadline = time.monotonic() + _WAIT_S
    while waiting:
        if time.monotonic() > deadline:
            raise Unavailable(f"{topic} cannot be read: no answer in {_WAIT_S:.0f} s")
        for message in called(lambda: consumer.consume(500, timeout=0.05)):
            deadline = time.monotonic() + _WAIT_S
            partition, offset, error = message.partition(), message.offset(), message.error()
            assert partition is not None
            if error is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    waiting.discard(partition)
                continue
            assert offset is not None
            if offset < ranges[partition][1]:
                yield message
            if offset + 1 >= ranges[partition][1]:
                waiting.discard(partition)
