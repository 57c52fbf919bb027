"""What the tests of Kafka Connect compare with finds what is lost, repeated or out of order."""

from __future__ import annotations

import pytest

from tests.connect.kafka_connect.changes import Change, Record, Row, differences, histories

ONE: Row = (1, "ann", 1, None)
TWO: Row = (1, "ann", 2, "more")
INSERT, UPDATE, DELETE = Change("c", ONE), Change("u", TWO), Change("d", None)
SNAPSHOT = Change("r", TWO)


@pytest.mark.parametrize(
    "found", [[INSERT, UPDATE, DELETE], [SNAPSHOT, DELETE]], ids=["every change", "from the snapshot on"]
)
def test_the_same_history_has_no_differences(found: list[Change]) -> None:
    assert differences({1: [INSERT, UPDATE, DELETE]}, {1: found}) == []


@pytest.mark.parametrize(
    "found",
    [
        [],
        [INSERT, UPDATE],
        [INSERT, INSERT, UPDATE, DELETE],
        [UPDATE, INSERT, DELETE],
        [SNAPSHOT, UPDATE, DELETE],
        [SNAPSHOT],
        [INSERT, UPDATE, DELETE, DELETE],
    ],
)
def test_what_is_lost_or_twice_or_out_of_order_is_a_difference(found: list[Change]) -> None:
    assert differences({1: [INSERT, UPDATE, DELETE]}, {1: found} if found else {}) != []


def test_a_row_deleted_before_the_snapshot_leaves_nothing() -> None:
    assert differences({1: [INSERT, DELETE], 2: [INSERT, UPDATE]}, {2: [SNAPSHOT]}) == []


def test_a_tombstone_follows_its_delete_and_nothing_else() -> None:
    insert = Record(0, 0, {"id": 1}, {"op": "c", "after": {"id": 1, "customer": "ann", "amount": 1, "note": None}})
    delete, tombstone = Record(0, 1, {"id": 1}, {"op": "d", "after": None}), Record(0, 2, {"id": 1}, None)
    assert histories([insert, delete, tombstone]) == {1: [INSERT, DELETE]}
    for wrong in (
        [insert, delete],
        [insert, tombstone],
        [insert, delete, tombstone, tombstone],
        [insert, delete, insert],
    ):
        with pytest.raises(AssertionError):
            histories(wrong)
