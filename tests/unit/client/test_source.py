"""A consumer in a transaction: whose offsets may be recorded, and the way back after an abort."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import TopicPartition as Place

from barnabas.client.common.rdkafka import ConsumerHandle
from barnabas.client.consumer.message import MessageMaker
from barnabas.client.consumer.reader import Reader
from barnabas.client.errors import BadSetting, TransactionAborted
from barnabas.client.transactions.source import Source
from barnabas.model.ids import TopicPartition
from tests.unit.client.fakes import FakeHandle, FakeMembership, FakeMessage

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class GroupHandle(FakeHandle):
    member = "me"
    recorded: dict[TopicPartition, int] = {}

    def memberid(self) -> str:
        return self.member

    def consumer_group_metadata(self) -> str:
        return "metadata"

    def committed(self, asked: list[Place], timeout: float) -> list[Place]:
        return [
            Place(each.topic, each.partition, self.recorded.get(TopicPartition(each.topic, each.partition), -1001))
            for each in asked
        ]


def made(*messages: FakeMessage, mode: Any = "manual", batch: int = 500) -> tuple[Reader, GroupHandle, Any]:
    handle = GroupHandle(*messages)
    reader = Reader(cast(ConsumerHandle, handle), "host:1", MessageMaker(None, None, "raise"), mode, batch, "committed")
    membership = FakeMembership(A, B)
    membership.member_id = "me"
    reader.attach(membership)
    return reader, handle, SimpleNamespace(_reader=reader, group="g")


def take(reader: Reader, count: int) -> None:
    for _ in range(count):
        if reader.take() is None:
            reader.fetch(0)
            assert reader.take() is not None


@pytest.mark.parametrize("mode", ["auto", "before", None])
def test_only_a_consumer_that_commits_by_hand(mode: Any) -> None:
    with pytest.raises(BadSetting, match='commit="manual"'):
        Source(made(mode=mode)[2])


def test_what_was_handed_out_is_what_is_recorded() -> None:
    reader, _, consumer = made(*(FakeMessage(offset, offset % 2) for offset in range(10, 20)), batch=4)
    take(reader, 6)
    source = Source(consumer)
    assert source.offsets() == {A: 15, B: 16}
    assert source.offsets({A: 12}) == {A: 12}
    source.settle()
    assert source.offsets() == {}
    take(reader, 1)
    assert source.offsets() == {A: 17}


def test_back_to_the_first_message_that_is_not_recorded() -> None:
    reader, handle, consumer = made(*(FakeMessage(offset, offset % 2) for offset in range(10, 30)), batch=4)
    source = Source(consumer)
    take(reader, 3)
    source.settle()
    take(reader, 9)  # over three batches
    source.rewind(certain=True)
    assert handle.seeks == [(A, 14), (B, 13)]
    assert source.offsets() == {} and reader.take() is None, "nothing of it is left in the buffer"


def test_back_from_a_commit_that_may_have_happened() -> None:
    reader, handle, consumer = made(*(FakeMessage(offset, offset % 2) for offset in range(10, 20)))
    take(reader, 6)
    handle.recorded = {A: 15, B: 3}
    Source(consumer).rewind(certain=False)
    assert handle.seeks == [(A, 15), (B, 11)], "never before what this reader began with"


def test_a_partition_that_left_with_its_messages_spoils_the_transaction() -> None:
    reader, handle, consumer = made(*(FakeMessage(offset, offset % 2) for offset in range(10, 20)))
    source = Source(consumer)
    take(reader, 5)
    reader.gone([B])
    with pytest.raises(TransactionAborted, match="t-1"):
        source.offsets()
    source.rewind(certain=True)
    assert handle.seeks == [(A, 10)]
    assert source.offsets() == {}


def test_a_partition_that_left_untouched_does_not() -> None:
    reader, _, consumer = made(FakeMessage(10), FakeMessage(11), FakeMessage(12, 1))
    take(reader, 2)
    reader.gone([B])
    assert Source(consumer).offsets() == {A: 12}


def test_offsets_of_others_are_not_recorded() -> None:
    reader, _, consumer = made()
    reader.membership.assigned.discard(B)
    with pytest.raises(TransactionAborted, match="t-1"):
        Source(consumer).offsets({B: 4})


@pytest.mark.parametrize("member", ["", "somebody else"])
def test_a_member_that_was_thrown_out_records_nothing(member: str) -> None:
    """librdkafka would send the offsets without a name, and a coordinator lets those in."""
    _, handle, consumer = made()
    source = Source(consumer)
    assert source.group_metadata() == "metadata"
    handle.member = member
    with pytest.raises(TransactionAborted, match="no member"):
        source.group_metadata()


def test_a_message_of_a_partition_that_leaves_during_the_fetch_is_not_handed_out() -> None:
    reader, handle, _ = made(FakeMessage(10, 1), FakeMessage(11), FakeMessage(12))
    consume = handle.consume

    def rebalanced(count: int, timeout: float) -> list[FakeMessage]:
        reader.gone([B])
        reader.membership.assigned.discard(B)
        return consume(count, timeout)

    handle.consume = rebalanced  # type: ignore[method-assign]
    assert reader.fetch(0) == 2
    message = reader.take()
    assert message is not None and message.offset == 11
