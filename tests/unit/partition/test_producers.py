"""Idempotence: new, duplicate, out of order; and the same after a snapshot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.partition.producers import Producers
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.batch import BatchHeader

_LAST = 0x7FFFFFFF


def batch(sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 7, timestamp: int = 1000) -> BatchHeader:
    return BatchHeader(0, 100, 0, 2, 0, 0, count - 1, timestamp, timestamp, producer, epoch, sequence, count)


def append(producers: Producers, header: BatchHeader, offset: int) -> int | None:
    """The offset of the duplicate, or None after appending."""
    duplicate = producers.check(header)
    if duplicate is not None:
        return duplicate.base_offset
    producers.appended(header, offset)
    return None


def refusal(producers: Producers, header: BatchHeader) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        producers.check(header)
    return refused.value.code


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert append(Producers(), batch(41), 0) is None


def test_an_unknown_producer_of_a_transaction_begins_at_zero() -> None:
    """KIP-890: otherwise a first batch that was overtaken would be refused, and the second one stand in its place."""
    with pytest.raises(KafkaError) as refused:
        Producers().check(batch(41), begins_at_zero=True)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert Producers().check(batch(0), begins_at_zero=True) is None


def test_a_repeat_of_one_of_the_last_five_gives_the_first_offset_again() -> None:
    producers = Producers()
    for i in range(6):
        append(producers, batch(i * 2, 2), i * 2)
    for i in range(1, 6):
        assert append(producers, batch(i * 2, 2), 99) == i * 2
    assert refusal(producers, batch(0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_refused_and_the_right_sequence_still_taken() -> None:
    producers = Producers()
    append(producers, batch(0), 0)
    assert refusal(producers, batch(2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(producers, batch(1), 1) is None


def test_a_repeat_with_another_length_is_no_duplicate() -> None:
    producers = Producers()
    append(producers, batch(0, 3), 0)
    assert refusal(producers, batch(0, 2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_epochs_fence_the_old_and_begin_at_zero() -> None:
    producers = Producers()
    append(producers, batch(0, epoch=3), 0)
    assert refusal(producers, batch(1, epoch=2)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(producers, batch(5, epoch=4)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert append(producers, batch(0, epoch=4), 1) is None
    assert refusal(producers, batch(1, epoch=3)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_begin_again_after_the_largest_int() -> None:
    producers = Producers()
    append(producers, batch(_LAST - 1, 3), 0)  # ends at sequence 0
    assert append(producers, batch(1), 3) is None
    assert append(producers, batch(_LAST - 1, 3), 9) == 0


def test_producers_idle_for_long_are_forgotten() -> None:
    producers = Producers()
    append(producers, batch(0, producer=1, timestamp=10), 0)
    append(producers, batch(0, producer=2, timestamp=90), 1)
    assert producers.forget_idle(50) == 1
    assert len(producers) == 1


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=30))
def test_a_snapshot_keeps_what_the_last_batch_needs(history: list[tuple[int, int]]) -> None:
    """After a restart from the snapshot alone, the last batch is known as a duplicate and the next one is taken."""
    producers, next_sequence, offset = Producers(), dict.fromkeys(range(1, 4), 0), 0
    last: dict[int, tuple[int, int, int]] = {}
    for producer, count in history:
        append(producers, batch(next_sequence[producer], count, producer=producer), offset)
        last[producer] = (next_sequence[producer], count, offset)
        next_sequence[producer] += count
        offset += count
    restored = Producers(producers.entries())
    for producer, (sequence, count, at) in last.items():
        assert append(restored, batch(sequence, count, producer=producer), 999) == at
        assert append(restored, batch(next_sequence[producer], producer=producer), offset) is None
        assert refusal(restored, batch(next_sequence[producer] + 5, producer=producer))


def test_the_oldest_producer_gives_way_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.core.partition.producers.PRODUCERS_PER_PARTITION_MAX", 3)
    producers = Producers()
    for producer in range(5):
        append(producers, batch(0, producer=producer), producer)
    assert sorted(entry.producer_id for entry in producers.entries()) == [2, 3, 4]
