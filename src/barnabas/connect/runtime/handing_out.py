"""What a consumer of a sink has got, to the partitions that it belongs to. Both engines use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from confluent_kafka import KafkaError, Message

from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.partition_writing import PartitionWriting

Place: TypeAlias = tuple[str, int]  # topic and partition


def hand_out(messages: Sequence[Message], partitions: Mapping[Place, PartitionWriting]) -> None:
    """Records and ends of partitions that are not there are dropped. Raises Unavailable for what does not pass by
    itself."""
    by_place: dict[Place, list[Message]] = {}
    ends: dict[Place, int] = {}  # of partitions that have no record behind their end
    for message in messages:
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        error = message.error()
        if error is None:
            assert topic is not None and partition is not None
            by_place.setdefault((topic, partition), []).append(message)
            ends.pop((topic, partition), None)
        elif error.code() == KafkaError._PARTITION_EOF:
            assert topic is not None and partition is not None and offset is not None
            ends[topic, partition] = offset
        elif error.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC):
            raise Unavailable(f"there is no topic {topic}" if topic else error.str())
        elif not error.retriable():
            raise Unavailable(error.str())
    for place, found in by_place.items():
        if (writing := partitions.get(place)) is not None:
            writing.take(found)
    for place, end in ends.items():
        if (writing := partitions.get(place)) is not None:
            writing.reached_end(end)
