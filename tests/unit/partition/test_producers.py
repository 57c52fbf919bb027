"""Idempotence: new, duplicate, out of order; and the same after a snapshot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.partition.producers import Marker, Producers
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import PRODUCER_IDLE_BEFORE_DROP_MS
from barnabas.wire.batch import TRANSACTIONAL_BIT, BatchHeader

_LAST = 0x7FFFFFFF
NOW = 1_000_000


def batch(sequence: int, count: int = 1, *, epoch: int = 0, producer: int = 7, timestamp: int = 1000) -> BatchHeader:
    return BatchHeader(0, 100, 0, 2, 0, 0, count - 1, timestamp, timestamp, producer, epoch, sequence, count)


def append(producers: Producers, header: BatchHeader, offset: int, now_ms: int = NOW) -> int | None:
    """The offset of the duplicate, or None after appending."""
    duplicate = producers.check(header, now_ms)
    if duplicate is not None:
        return duplicate.base_offset
    producers.appended(header, offset, now_ms)
    return None


def refusal(producers: Producers, header: BatchHeader, now_ms: int = NOW) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        producers.check(header, now_ms)
    return refused.value.code


def test_an_unknown_producer_may_begin_anywhere() -> None:
    assert append(Producers(), batch(41), 0) is None


def test_an_unknown_producer_of_a_transaction_begins_at_zero() -> None:
    """KIP-890: otherwise a first batch that was overtaken would be refused, and the second one stand in its place."""
    with pytest.raises(KafkaError) as refused:
        Producers().check(batch(41), NOW, begins_at_zero=True)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert Producers().check(batch(0), NOW, begins_at_zero=True) is None


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
    """By the time of their appends: a producer that copies old records is as active as any other."""
    producers = Producers()
    append(producers, batch(0, producer=1, timestamp=90), 0, now_ms=10)
    append(producers, batch(0, producer=2, timestamp=10), 1, now_ms=90)
    assert producers.forget_idle(50) == 1
    assert [entry.producer_id for entry in producers.entries()] == [2]


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


def test_a_producer_at_work_is_kept_however_many_others_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """It came first, and short-lived ones by the thousand after it: a batch it repeats is still known."""
    monkeypatch.setattr("barnabas.core.partition.producers.PRODUCERS_PER_PARTITION_MAX", 3)
    producers, now = Producers(), NOW
    append(producers, batch(0, producer=1), 0, now)
    for number in range(1, 50):
        now += PRODUCER_IDLE_BEFORE_DROP_MS // 2 + 1
        append(producers, batch(number, producer=1), number * 2, now)
        append(producers, batch(0, producer=1000 + number), number * 2 + 1, now)
        assert append(producers, batch(number, producer=1), 9999, now) == number * 2
        assert len(producers) <= 3


def test_a_new_producer_waits_while_all_others_are_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.core.partition.producers.PRODUCERS_PER_PARTITION_MAX", 2)
    producers = Producers()
    for producer in (1, 2):
        append(producers, batch(0, producer=producer), producer)
    assert refusal(producers, batch(0, producer=3)) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert append(producers, batch(1, producer=2), 3) is None, "those that are known go on"
    later = NOW + PRODUCER_IDLE_BEFORE_DROP_MS
    append(producers, batch(2, producer=2), 4, later)
    assert refusal(producers, batch(0, producer=3), later) is ErrorCode.NOT_ENOUGH_REPLICAS, (
        "idle for five minutes: more"
    )
    assert append(producers, batch(0, producer=3), 5, later + 1001) is None
    assert sorted(entry.producer_id for entry in producers.entries()) == [2, 3]


def test_the_bound_of_the_node_holds_over_its_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.core.partition.producers.PRODUCERS_PER_NODE_MAX", 3)
    first, second = Producers(), Producers()
    second.total = first.total
    for producer in (1, 2):
        append(first, batch(0, producer=producer), producer)
    append(second, batch(0, producer=1), 0)
    assert refusal(second, batch(0, producer=2)) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert first.forget_idle(NOW + 1) == 2
    assert append(second, batch(0, producer=2), 1, NOW + 1000) is None


def test_what_a_follower_replays_is_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its leader has taken it, so it is in the log; a replica that forgot it would append a repeat after a failover."""
    monkeypatch.setattr("barnabas.core.partition.producers.PRODUCERS_PER_PARTITION_MAX", 2)
    producers = Producers()
    for producer in range(5):
        producers.replay(batch(0, producer=producer)._replace(base_offset=producer), NOW)
    assert append(producers, batch(0, producer=0), 9) == 0


def test_an_open_transaction_takes_no_other_batch_of_its_producer() -> None:
    """It would be committed or aborted with the transaction (Kafka: INVALID_TXN_STATE)."""
    producers = Producers()
    append(producers, batch(0)._replace(attributes=TRANSACTIONAL_BIT), 0)
    assert refusal(producers, batch(1)) is ErrorCode.INVALID_TXN_STATE
    assert refusal(producers, batch(0, epoch=1)) is ErrorCode.INVALID_TXN_STATE
    assert append(producers, batch(1)._replace(attributes=TRANSACTIONAL_BIT), 1) is None


def test_what_ends_an_open_transaction_is_taken_whatever_coordinators_there_were() -> None:
    """A promoted partition is ended by its leader, which does not know the coordinator epochs of the former source."""
    producers = Producers()
    transactional = {"attributes": TRANSACTIONAL_BIT}
    for producer in (7, 8):
        append(producers, batch(0, producer=producer)._replace(**transactional), producer)
    producers.marker_appended(Marker(7, 0, 5, commit=True), 9, 1000, NOW)
    append(producers, batch(1, producer=7)._replace(**transactional), 10)
    append(producers, batch(0, producer=9)._replace(**transactional), 20)
    aborts = producers.aborts_before(20)
    assert aborts == [Marker(8, 0, 0, commit=False), Marker(7, 0, 5, commit=False)]
    for offset, marker in enumerate(aborts, 30):
        producers.check_marker(marker)
        producers.marker_appended(marker, offset, 1000, NOW)
    assert [marker.producer_id for marker in producers.aborts_before(100)] == [9]
