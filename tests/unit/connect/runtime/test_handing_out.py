"""What a consumer has got comes to its partition in the order in which it came."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, Message

from barnabas.connect.contract import Rejected, Sink, Writer
from barnabas.connect.definition.loading import load
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.decoding import Decoding
from barnabas.connect.runtime.handing_out import hand_out
from barnabas.connect.runtime.partition_writing import PartitionWriting

[DEFINITION] = load('{name: a, from: {topics: [orders]}, to: {opensearch: {url: "http://127.0.0.1:9200"}}}')


class Nowhere(Sink, Writer):
    def open(self, topic: str, partition: int) -> Writer:
        return self

    def write(self, records: object, next_offset: int) -> list[Rejected]:
        return []


def message(offset: int, error: int | None = None) -> Message:
    problem = None if error is None else KafkaError(error)
    return Message(topic="orders", partition=0, offset=offset, error=problem, value=b"x", timestamp=(1, 5))


@pytest.mark.parametrize(
    ("offsets", "is_at_end"),
    [
        ([0, 1, "end 3"], True),  # a marker of a transaction stands at 2
        ([0, "end 1", 1], False),
        ([0, "end 1", 1, "end 2"], True),
        (["end 0"], True),
        ([0], False),
    ],
)
def test_an_end_counts_when_nothing_came_behind_it(offsets: list[int | str], is_at_end: bool) -> None:
    writing = PartitionWriting(Nowhere(), "orders", 0, Decoding(DEFINITION))
    writing.open()
    messages = [
        message(each) if isinstance(each, int) else message(int(each.split()[1]), KafkaError._PARTITION_EOF)
        for each in offsets
    ]
    hand_out(messages, {("orders", 0): writing})
    writing.write(None)  # type: ignore[arg-type]  # there is no dead letter
    assert writing.is_at_end == is_at_end
    last = offsets[-1]
    assert writing.durable == (int(last.split()[1]) if isinstance(last, str) else last + 1)


def test_a_topic_that_is_gone_is_told() -> None:
    with pytest.raises(Unavailable, match="there is no topic orders"):
        hand_out([message(0, KafkaError.UNKNOWN_TOPIC_OR_PART)], {})
    hand_out([message(0, KafkaError._PARTITION_EOF), message(0)], {})  # of partitions that went to somebody else
