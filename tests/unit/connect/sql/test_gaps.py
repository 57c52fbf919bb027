"""Missing numbers are found, read when they come, and given up in time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.connect.connectors.sql.gaps import Gaps


def test_what_is_missing_between_numbers() -> None:
    gaps = Gaps().after(3, [4, 7, 8, 20], 100, 10)
    assert gaps.ranges == [(5, 6, 100), (9, 19, 100)]
    assert gaps.without([6, 10, 19]).ranges == [(5, 5, 100), (9, 9, 100), (11, 18, 100)]
    later = gaps.after(20, [22], 200, 10)
    assert later.seen_since(150).ranges == [(21, 21, 200)]
    assert gaps.after(20, [21, 22], 200, 10) is gaps


def test_the_highest_are_kept_when_there_are_too_many() -> None:
    gaps = Gaps().after(0, list(range(2, 100, 2)), 1, 3)
    assert [first for first, _, _ in gaps.ranges] == [93, 95, 97]


@given(st.lists(st.integers(1, 60), unique=True), st.randoms(use_true_random=False))
def test_every_number_is_read_once_in_whatever_order_they_come(come: list[int], chance: object) -> None:
    """A model of the reader: numbers become visible in any order; it asks after each."""
    last, gaps, seen, there = 0, Gaps(), list[int](), set[int]()
    for number in come:
        there.add(number)
        late = sorted(n for n in there if any(first <= n <= end for first, end, _ in gaps.ranges))
        gaps = gaps.without(late)
        new = sorted(n for n in there if n > last)
        gaps = gaps.after(last, new, 0, 1000)
        last = max([last, *new])
        seen += late + new
        assert all(a[1] < b[0] for a, b in zip(gaps.ranges, gaps.ranges[1:], strict=False))
    assert sorted(seen) == sorted(come)
