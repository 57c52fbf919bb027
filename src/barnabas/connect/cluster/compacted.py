"""A compacted topic as a table: the newest value of each key, read to its end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence

from confluent_kafka import Consumer, KafkaError, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.errors import Unavailable

_READ_S = 30.0
_FETCH_WAIT_MS = 10  # behind a transaction's marker the end is said only after a fetch that has waited for more


def read_table(cluster: Cluster, topic: str, partitions: Sequence[int]) -> dict[bytes, bytes]:
    """What was committed when this was called. Whoever reads positions has fenced who wrote them before, so no
    transaction is open in these partitions; one that was aborted is not seen."""
    return read_on(cluster, topic, partitions, {}, {})[0]


def read_on(
    cluster: Cluster, topic: str, partitions: Sequence[int], rows: Mapping[bytes, bytes], read_to: Mapping[int, int]
) -> tuple[dict[bytes, bytes], dict[int, int]]:
    """The table, and the offsets to which it was read, from what was known of it up to other offsets: only what came
    since is read. Where those are not in the log any more, all of it is."""
    if not partitions:
        return {}, {}
    consumer = cluster.consumer(
        group_id="barnabas-connect-table", enable_partition_eof=True, fetch_wait_max_ms=_FETCH_WAIT_MS
    )
    try:
        bounds = {each: bounds_of(consumer, topic, each) for each in partitions}
        goes_on = all(each in read_to and low <= read_to[each] <= high for each, (low, high) in bounds.items())
        found = dict(rows) if goes_on else {}
        begins = {each: read_to[each] if goes_on else low for each, (low, _) in bounds.items()}
        ends = {each: high for each, (_, high) in bounds.items()}
        for key, value in _between(consumer, topic, begins, ends):
            if value is None:
                found.pop(key, None)
            else:
                found[key] = value
    finally:
        consumer.close()
    return found, ends


def bounds_of(consumer: Consumer, topic: str, partition: int) -> tuple[int, int]:
    """The first offset and the end. (Asked for before it is read, it also tells the consumer who leads the partition;
    without, librdkafka looks once a second.)"""
    found = called(lambda: consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=_READ_S))
    if found is None:
        raise Unavailable(f"the leader of {topic}-{partition} does not say where it ends")
    return found


def _between(
    consumer: Consumer, topic: str, begins: Mapping[int, int], ends: Mapping[int, int]
) -> Iterator[tuple[bytes, bytes | None]]:
    waiting = {partition for partition, end in ends.items() if end > begins[partition]}
    consumer.assign([TopicPartition(topic, each, begins[each]) for each in waiting])
    deadline = time.monotonic() + _READ_S
    while waiting:
        for message in consumer.consume(1000, timeout=0.02):
            partition, offset, error = message.partition(), message.offset(), message.error()
            assert partition is not None and offset is not None
            if error is not None:
                # the end that a reader of committed records sees: the offset behind everything that is decided
                if error.code() == KafkaError._PARTITION_EOF and offset >= ends[partition]:
                    waiting.discard(partition)
                continue
            key = message.key()
            if key is not None:
                yield bytes(key), message.value()
            if offset + 1 >= ends[partition]:
                waiting.discard(partition)
            deadline = time.monotonic() + _READ_S
        if time.monotonic() > deadline:
            raise Unavailable(f"topic {topic} cannot be read to its end: a transaction is open, or a leader is missing")
