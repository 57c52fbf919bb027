"""When the first unread record was written, from batch headers; and which places a look asks for."""

from __future__ import annotations

from collections import deque

from barnabas.console.clusters import write_times
from barnabas.console.clusters.facts import Facts, Place
from barnabas.console.clusters.write_times import WriteTimes, time_at, unread_places
from barnabas.wire.batch import CONTROL_BIT, DELETE_HORIZON_BIT, HEADER, HEADER_BYTES, LOG_APPEND_TIME_BIT


def batch(base: int, records: int, first_ms: int, last_ms: int, attributes: int = 0, body: int = 100) -> bytes:
    length = HEADER_BYTES - 12 + body
    return HEADER.pack(base, length, 0, 2, 0, attributes, records - 1, first_ms, last_ms, -1, -1, -1, records) + bytes(
        body
    )


def test_the_time_of_a_batch_and_of_a_record_within_it() -> None:
    records = batch(10, 11, 1_000, 2_000)
    assert time_at(records, 10) == (1_000, 10)
    assert time_at(records, 15) == (1_500, 15)
    assert time_at(records, 20) == (2_000, 20)
    assert time_at(records, 5)[0] == 1_000, "what lay before it is gone"


def test_batches_before_the_offset_and_markers_are_passed_over() -> None:
    records = batch(0, 5, 1, 2) + batch(5, 1, 3, 3, CONTROL_BIT) + batch(6, 1, 777, 777)
    assert time_at(records, 5) == (777, 6)
    assert time_at(records, 7) == (None, 7), "all of it is read"
    assert time_at(batch(5, 1, 3, 3, CONTROL_BIT), 5) == (None, 6)


def test_a_batch_that_was_cut_still_tells_its_time() -> None:
    assert time_at(batch(0, 1, 42, 42, body=5_000)[:200], 0) == (42, 0)
    assert time_at(b"", 3) == (None, 3)
    assert time_at(bytes(80), 3) == (None, 3), "not a batch"


def test_times_of_the_log_and_of_a_compacted_batch_are_the_last_one() -> None:
    """The base timestamp is the producer's there, or the time at which tombstones may go."""
    assert time_at(batch(0, 10, 5, 900, LOG_APPEND_TIME_BIT), 1) == (900, 1)
    assert time_at(batch(0, 10, 10**15, 900, DELETE_HORIZON_BIT), 1) == (900, 1)


def test_only_places_with_something_unread_are_asked_for() -> None:
    committed = {"a": {("t", 0): 5, ("t", 1): 7}, "b": {("t", 0): 5, ("gone", 0): 1}}
    assert unread_places(committed, {("t", 0): 9, ("t", 1): 7}) == {("t", 0, 5)}


def test_a_look_asks_for_so_many_places_and_the_next_for_the_others() -> None:
    places: set[Place] = {("t", index, 5) for index in range(write_times.PLACES_MAX * 2)}
    times = WriteTimes()
    times._look = 1
    first = times.choose(places)
    times._look = 2
    second = times.choose(places)
    assert len(first) == len(second) == write_times.PLACES_MAX
    assert not set(first) & set(second)
    times.known = dict.fromkeys(places, 1)
    assert times.choose(places) == [], "a group that stands still costs nothing"


def test_of_one_partition_the_group_furthest_behind_comes_first() -> None:
    assert WriteTimes().choose({("t", 0, 90), ("t", 0, 10)}) == [("t", 0, 10), ("t", 0, 90)]


def test_a_group_that_moves_is_as_far_behind_as_where_it_stood_until_more_is_known() -> None:
    times = WriteTimes()
    times._passed = {("t", 0): deque([(10, 1_000), (40, 4_000)])}
    times.known = {("t", 1, 5): 77}
    asked: list[Place] = [("t", 0, 50), ("t", 0, 12), ("t", 0, 3), ("t", 1, 5)]
    assert times.told(asked) == {("t", 0, 50): 4_000, ("t", 0, 12): 1_000, ("t", 1, 5): 77}


def test_seconds_of_a_group_are_those_of_its_slowest_partition() -> None:
    facts = Facts(at=100.0, ends={("t", 0): 9, ("t", 1): 9, ("t", 2): 9, ("t", 3): 9})
    facts.committed = {"g": {("t", 0): 5, ("t", 1): 6, ("t", 2): 9, ("t", 3): 7}, "read": {("t", 0): 9}, "none": {}}
    facts.written = {("t", 0, 5): 70_000, ("t", 1, 6): 90_000, ("t", 3, 7): write_times.NOTHING_UNREAD}
    assert facts.seconds("g") == 30.0
    assert facts.seconds("read") == 0.0
    assert facts.seconds("none") is None and facts.seconds("unknown") is None
    assert facts.partition_seconds(("t", 1), 5) is None, "not asked for yet"
