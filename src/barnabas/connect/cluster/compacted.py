"""A compacted topic as a table: the newest value of each key, read to its end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.errors import Unavailable

_READ_S = 30.0


def read_table(cluster: Cluster, topic: str, partitions: Sequence[int]) -> dict[bytes, bytes]:
    """What was committed when this was called. Whoever reads positions has fenced who wrote them before, so no
    transaction is open in these partitions; one that was aborted is not seen."""
    if not partitions:
        return {}
    consumer = cluster.consumer(group_id="barnabas-connect-table", enable_partition_eof=True)
    found: dict[bytes, bytes] = {}
    try:
        for key, value in _to_the_end(consumer, topic, partitions):
            if value is None:
                found.pop(key, None)
            else:
                found[key] = value
    finally:
        consumer.close()
    return found


def _to_the_end(consumer: Consumer, topic: str, partitions: Sequence[int]) -> Iterator[tuple[bytes, bytes | None]]:
    places = [TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions]
    ends = {
        each.partition: called(lambda place=each: consumer.get_watermark_offsets(place, timeout=_READ_S))  # type: ignore[misc]
        for each in places
    }
    waiting = {partition for partition, (low, high) in ends.items() if high > low}
    consumer.assign([each for each in places if each.partition in waiting])
    deadline = time.monotonic() + _READ_S
    while waiting:
        for message in consumer.consume(1000, timeout=0.1):
            partition, offset, error = message.partition(), message.offset(), message.error()
            assert partition is not None and offset is not None
            if error is not None:
                # the end that a reader of committed records sees: the offset behind everything that is decided
                if error.code() == KafkaError._PARTITION_EOF and offset >= ends[partition][1]:
                    waiting.discard(partition)
                continue
            key = message.key()
            if key is not None:
                yield bytes(key), message.value()
            if offset + 1 >= ends[partition][1]:
                waiting.discard(partition)
            deadline = time.monotonic() + _READ_S
        if time.monotonic() > deadline:
            raise Unavailable(f"topic {topic} cannot be read to its end: a transaction is open, or a leader is missing")
