"""The buffer against a simple model: what was handed out, what is finished, what is still to come."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.common.rdkafka import RawMessage
from barnabas.client.consumer.buffer import Buffer
from barnabas.model.ids import TopicPartition
from tests.unit.client.fakes import FakeMessage

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


def records(*places: tuple[int, int]) -> list[RawMessage]:
    return [FakeMessage(offset, partition) for partition, offset in places]


def test_the_record_in_hand_is_not_finished() -> None:
    buffer = Buffer()
    buffer.refill(records((0, 10), (0, 11), (1, 5)))
    buffer.take()
    buffer.take()
    assert buffer.progress(finished_only=True) == {A: 11}
    assert buffer.progress(finished_only=False) == {A: 12}
    assert buffer.first_waiting() == {B: 5}
    assert buffer.last_waiting() == {B: 6}


def test_a_refill_finishes_all_that_was_handed_out() -> None:
    buffer = Buffer()
    buffer.refill(records((0, 10)))
    buffer.take()
    buffer.refill(records((1, 3)))
    assert buffer.progress(finished_only=True) == {A: 11}


def test_what_is_committed_is_not_offered_again() -> None:
    buffer = Buffer()
    buffer.refill(records((0, 10), (0, 11), (0, 12)))
    buffer.take()
    buffer.take()
    buffer.forget_progress(keep_in_hand=True)
    assert buffer.progress(finished_only=True) == {}
    assert buffer.progress(finished_only=False) == {A: 12}
    buffer.forget_progress(keep_in_hand=False)
    assert buffer.progress(finished_only=False) == {}
    assert (taken := buffer.take()) is not None and taken.offset() == 12


def test_a_partition_that_left_is_forgotten() -> None:
    buffer = Buffer()
    buffer.refill(records((0, 1), (1, 1), (0, 2), (1, 2)))
    buffer.take()
    buffer.take()
    buffer.drop({A})
    assert buffer.progress(finished_only=False) == {B: 2}
    assert (taken := buffer.take()) is not None and taken.partition() == 1
    assert buffer.take() is None


steps = st.lists(
    st.one_of(
        st.just("take"),
        st.just("forget"),
        st.tuples(st.just("drop"), st.integers(0, 2)),
        st.tuples(st.just("refill"), st.lists(st.integers(0, 2), max_size=5)),
    ),
    max_size=40,
)


@given(steps)
def test_against_a_model(actions: list[object]) -> None:
    buffer = Buffer()
    waiting: list[tuple[int, int]] = []
    handed: dict[int, int] = {}
    next_offset = [0, 0, 0]
    for action in actions:
        if action == "take":
            raw = buffer.take()
            if waiting:
                partition, offset = waiting.pop(0)
                assert raw is not None and (raw.partition(), raw.offset()) == (partition, offset)
                handed[partition] = offset + 1
            else:
                assert raw is None
        elif action == "forget":
            buffer.forget_progress(keep_in_hand=False)
            handed = {}
        elif isinstance(action, tuple) and action[0] == "drop":
            buffer.drop({TopicPartition("t", action[1])})
            waiting = [each for each in waiting if each[0] != action[1]]
            handed.pop(action[1], None)
        elif isinstance(action, tuple) and not waiting:
            batch = []
            for partition in action[1]:
                batch.append((partition, next_offset[partition]))
                next_offset[partition] += 1
            buffer.refill(records(*batch))
            waiting = batch
        assert buffer.waiting == len(waiting)
        assert buffer.progress(finished_only=False) == {TopicPartition("t", p): o for p, o in handed.items()}
