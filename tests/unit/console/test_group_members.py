"""What members of a classic group own, from the bytes that a member has made."""

from __future__ import annotations

from struct import pack

from barnabas.console.clusters.members import assignment
from barnabas.wire.codec import encode_struct


def test_an_assignment_is_read() -> None:
    body = {
        "assigned_partitions": [{"topic": "b", "partitions": [1]}, {"topic": "a", "partitions": [2, 0]}],
        "user_data": None,
    }
    data = pack(">h", 1) + encode_struct("consumer_protocol_assignment", 1, body)
    assert assignment(data) == (("a", 0), ("a", 2), ("b", 1))


def test_bytes_of_another_protocol_are_nothing() -> None:
    for data in (b"", b"\x00", pack(">h", 0), pack(">h", 99) + b"\xff" * 20, b"\xff" * 40):
        assert assignment(data) == ()
