"""Splits, admission and filters: pure decisions over offsets."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipelines.source.admission import Patience, at_most, waiting
from barnabas.pipelines.source.filters import Test as Comparison
from barnabas.pipelines.source.filters import accept, earliest_ms, narrow, row_tests
from barnabas.pipelines.source.planning import (
    ENOUGH,
    SLACK,
    WORTH_A_TASK,
    Range,
    bundled,
    equal_shares,
    ranges_between,
    split_ranges,
)

sizes = st.lists(st.integers(1, 10**7), min_size=1, max_size=8)


@given(sizes, st.integers(1, 64), st.none() | st.integers(1, 100), st.none() | st.integers(1000, 10**6))
def test_splits_cover_every_offset_once(
    lengths: list[int], cores: int, least: int | None, most_records: int | None
) -> None:
    ranges = [Range("t", at, 100 * at, 100 * at + size) for at, size in enumerate(lengths)]
    splits = split_ranges(ranges, cores, least, most_records)
    for whole in ranges:
        parts = [part for part in splits if part.partition == whole.partition]
        assert parts[0].start == whole.start and parts[-1].end == whole.end
        assert all(one.end == two.start for one, two in pairwise(parts))
        assert all(part.size > 0 for part in parts)
        if most_records is not None:
            assert all(part.size <= most_records for part in parts)
    if least is not None:
        assert len(splits) >= min(least, sum(lengths))


def test_one_partition_is_cut_for_every_core_when_it_is_worth_it() -> None:
    whole = [Range("t", 0, 0, 8 * WORTH_A_TASK)]
    assert len(split_ranges(whole, cores=4)) == 4
    assert len(split_ranges([Range("t", 0, 0, WORTH_A_TASK)], cores=4)) == 1
    assert split_ranges(whole, cores=4, min_partitions=1) == whole
    assert split_ranges([], cores=4) == []


@given(sizes, st.integers(1, 64))
def test_shares_are_equal_and_cover_every_offset_once_and_in_order(lengths: list[int], cores: int) -> None:
    ranges = [Range("t", at, 100 * at, 100 * at + size) for at, size in enumerate(lengths)]
    shares = equal_shares(ranges, cores)
    parts = [part for share in shares for part in share]
    for whole in ranges:
        of_range = [part for part in parts if part.partition == whole.partition]
        assert of_range[0].start == whole.start and of_range[-1].end == whole.end
        assert all(one.end == two.start for one, two in pairwise(of_range))
    assert all(part.size > 0 for part in parts)
    assert [part.partition for part in parts] == sorted(part.partition for part in parts)
    found, fair = [sum(part.size for part in share) for share in shares], sum(lengths) / len(shares)
    assert max(found) - fair <= 2 * fair / SLACK + 1 and fair - min(found) <= 2 * fair / SLACK + 1
    assert len(shares) == 1 or (fair >= WORTH_A_TASK and len(shares) <= cores * len(ranges))


def test_no_core_waits_for_the_largest_partition() -> None:
    uneven = [Range("t", at, 0, size * WORTH_A_TASK) for at, size in enumerate((10, 12, 8, 18))]
    shares = equal_shares(uneven, cores=2)
    assert [sum(part.size for part in share) // WORTH_A_TASK for share in shares] == [12, 12, 12, 12]
    assert len(equal_shares(uneven[:3], cores=2)) == 4
    assert len(equal_shares(uneven[:1], cores=4)) == 4
    assert equal_shares([Range("t", at, 0, 10) for at in range(3)], cores=2) == [
        tuple(Range("t", at, 0, 10) for at in range(3))
    ]
    assert equal_shares([], cores=4) == []


def test_a_partition_stays_whole_where_shares_are_nearly_equal() -> None:
    nearly = [Range("t", at, 0, 100 * WORTH_A_TASK + more) for at, more in enumerate((5, 0, -9, 3))]
    assert equal_shares(nearly, cores=4) == [(each,) for each in nearly]


def test_ranges_without_records_are_left_out() -> None:
    start, end = {("t", 0): 5, ("t", 1): 5, ("u", 0): 1}, {("t", 0): 5, ("t", 1): 9}
    assert ranges_between(start, end) == [Range("t", 1, 5, 9)]


@given(
    st.dictionaries(st.integers(0, 9), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1), st.data()
)
def test_a_limit_is_used_up_and_not_passed(places: dict[int, tuple[int, int]], data: Any) -> None:
    begun = {("t", part): start for part, (start, _) in places.items()}
    end = {("t", part): start + size for part, (start, size) in places.items()}
    most = data.draw(st.integers(1, 2 * waiting(begun, end) + 1))
    admitted = at_most(begun, end, most)
    assert waiting(begun, admitted) == min(most, waiting(begun, end))
    assert all(begun[place] <= admitted[place] <= end[place] for place in end)


def test_a_small_batch_is_held_back_but_not_for_ever() -> None:
    patience = Patience(least=100, delay_s=60)
    assert patience.holds_back(10, now=0)
    assert patience.holds_back(99, now=59)
    assert not patience.holds_back(10, now=60)
    assert patience.holds_back(10, now=61)
    assert not patience.holds_back(100, now=62)
    assert not Patience(least=None, delay_s=60).holds_back(1, now=0)


class EqualTo:
    def __init__(self, attribute: tuple[str, ...], value: Any) -> None:
        self.attribute, self.value = attribute, value


class GreaterThan(EqualTo): ...


class In(EqualTo): ...


class StringContains(EqualTo): ...


class Not:
    def __init__(self, child: Any) -> None:
        self.child = child


def test_filters_on_other_columns_and_with_null_stay_with_spark() -> None:
    assert accept(EqualTo(("value",), b"x")) is None
    assert accept(EqualTo(("offset", "inner"), 1)) is None
    assert accept(EqualTo(("offset",), None)) is None
    assert accept(StringContains(("topic",), "x")) is None
    assert accept(Not(In(("offset",), (1, None)))) is None
    assert accept(Not(EqualTo(("offset",), 3))) == Comparison("offset", "EqualTo", (3,), negated=True)


def test_offsets_bound_the_ranges() -> None:
    ranges = [Range("t", 0, 0, 100), Range("t", 1, 0, 100), Range("u", 0, 0, 100)]
    tests = [
        Comparison("topic", "EqualTo", ("t",)),
        Comparison("partition", "In", (1, 2)),
        Comparison("offset", "GreaterThan", (10,)),
        Comparison("offset", "LessThanOrEqual", (20,)),
        Comparison("offset", "EqualTo", (15,), negated=True),
    ]
    assert narrow(ranges, tests) == [Range("t", 1, 11, 21)]
    assert row_tests(tests) == (tests[-1],)
    assert narrow(ranges, [Comparison("offset", "In", (5, 90))]) == [
        Range(topic, part, 5, 91) for topic, part in (("t", 0), ("t", 1), ("u", 0))
    ]


def test_only_a_lower_bound_of_time_bounds_offsets() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    ms = int(moment.timestamp() * 1000)
    after = accept(GreaterThan(("timestamp",), moment))
    assert after is not None and earliest_ms([after]) == ms
    before = Comparison("timestamp", "LessThan", (ms * 1000,))
    assert earliest_ms([before]) is None
    assert earliest_ms([Comparison("timestamp", "EqualTo", (ms * 1000,), negated=True)]) is None
    assert list(before.holds(np.array([ms - 1, ms]) * 1000)) == [True, False]


@pytest.mark.parametrize(
    "operation", ["EqualTo", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual", "In"]
)
def test_a_bound_and_a_test_of_each_row_agree(operation: str) -> None:
    test = Comparison("offset", operation, (3, 6) if operation == "In" else (5,))
    bounded = narrow([Range("t", 0, 0, 10)], [test])
    inside = {at for each in bounded for at in range(each.start, each.end)}
    assert {at for at in range(10) if test.holds(at)} <= inside
    if operation != "In":
        assert {at for at in range(10) if test.holds(at)} == inside


def test_small_splits_share_a_task() -> None:
    small = [Range("t", part, 0, 10) for part in range(9)]
    assert bundled(small) == [tuple(small)]
    large = [Range("t", part, 0, ENOUGH) for part in range(3)]
    assert bundled(large) == [(each,) for each in large]
    assert [len(bundle) for bundle in bundled([small[0], large[0], small[1], large[1]])] == [2, 2]
    assert bundled([]) == []


def test_a_query_with_time_takes_no_more_tasks_than_it_was_given() -> None:
    large = [Range("t", part, 0, ENOUGH * (part + 1)) for part in range(5)]
    assert bundled(large, at_most=1) == [tuple(large)]
    assert len(bundled(large, at_most=2)) == 2
    assert len(bundled(large, at_most=3)) <= 3
    assert sum(bundled(large, at_most=3), ()) == tuple(large)
