"""What a reset would do: targets within the log, what is read again, what is skipped."""

from __future__ import annotations

import pytest

from barnabas.console.pages.groups.plan import Move, moves
from barnabas.console.problems import Problem

P = ("t", 0)


def one(way: str, value: int = 0, before: int | None = 50, at_time: int = -1) -> Move:
    known = {} if before is None else {P: before}
    (found,) = moves([P], way, value, known, {P: 10}, {P: 100}, {P: at_time})
    return found


@pytest.mark.parametrize(
    ("way", "value", "at_time", "after", "again", "skipped"),
    [
        ("earliest", 0, -1, 10, 40, 0),
        ("latest", 0, -1, 100, 0, 50),
        ("time", 0, 70, 70, 0, 20),
        ("time", 0, -1, 100, 0, 50),  # nothing is that young
        ("offset", 20, -1, 20, 30, 0),
        ("offset", 5, -1, 10, 40, 0),  # gone: the oldest that is left
        ("offset", 500, -1, 100, 0, 50),
        ("shift", -7, -1, 43, 7, 0),
        ("shift", 7, -1, 57, 0, 7),
        ("shift", -1000, -1, 10, 40, 0),
    ],
)
def test_where_a_partition_goes(way: str, value: int, at_time: int, after: int, again: int, skipped: int) -> None:
    found = one(way, value, at_time=at_time)
    assert (found.after, found.again, found.skipped) == (after, again, skipped)


def test_what_retention_has_removed_is_not_skipped_by_a_reset() -> None:
    assert one("latest", before=2).skipped == 90
    assert one("earliest", before=2).skipped == 0


def test_a_partition_without_a_commit_is_neither_read_again_nor_skipped() -> None:
    found = one("latest", before=None)
    assert (found.before, found.after, found.again, found.skipped) == (None, 100, 0, 0)
    with pytest.raises(Problem, match="nothing to shift"):
        one("shift", 5, before=None)


def test_a_partition_without_a_leader_is_told() -> None:
    with pytest.raises(Problem, match="t-1 has no leader"):
        moves([("t", 1)], "earliest", 0, {}, {}, {}, {})
