"""Records become messages; those that cannot be read say where they are, and go where the consumer wants them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from barnabas.client.consumer.message import Message, MessageMaker
from barnabas.client.errors import BadSetting, DeserializationError
from tests.unit.client.fakes import FakeMessage


def test_a_message_has_all_of_the_record() -> None:
    raw = FakeMessage(7, 3, "orders", b'{"a":1}', b"key", [("h", b"1"), ("h", b"2")])
    message = MessageMaker("string", "json", "raise").make(raw)
    assert message == Message("orders", 3, 7, 1_007, "key", {"a": 1}, (("h", b"1"), ("h", b"2")))
    assert message.header("h") == b"2"
    assert message.header("x", b"none") == b"none"
    assert message.time == datetime(1970, 1, 1, 0, 0, 1, 7_000, UTC)


def test_nothing_stays_nothing() -> None:
    message = MessageMaker("json", "json", "raise").make(FakeMessage(0, value=None, key=None))
    assert message is not None
    assert (message.key, message.value, message.headers) == (None, None, ())


@pytest.mark.parametrize(
    ("part", "raw"), [("value", FakeMessage(7, 3, "orders", b"{")), ("key", FakeMessage(7, 3, "orders", b"1", b"{"))]
)
def test_unreadable_raises_with_its_place(part: str, raw: FakeMessage) -> None:
    with pytest.raises(
        DeserializationError, match=f"orders-3 at offset 7: the {part} is not readable: DecodeError"
    ) as caught:
        MessageMaker("json", "json", "raise").make(raw)
    assert (caught.value.topic, caught.value.partition, caught.value.offset, caught.value.data) == (
        "orders",
        3,
        7,
        b"{",
    )


def test_unreadable_is_skipped_or_given_away() -> None:
    assert MessageMaker(None, "json", "skip").make(FakeMessage(0, value=b"{")) is None
    kept: list[DeserializationError] = []
    assert MessageMaker(None, "json", kept.append).make(FakeMessage(9, value=b"{")) is None
    assert [each.offset for each in kept] == [9]


def test_on_error_is_checked() -> None:
    with pytest.raises(BadSetting):
        MessageMaker(None, None, "ignore")  # type: ignore[arg-type]
