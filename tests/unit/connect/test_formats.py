"""Keys and values to bytes and back."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import json
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.connect.definition.definition import Format
from barnabas.connect.values.formats import BadValue, decoder, encoder


def through(value: Any, kind: str) -> Any:
    data = encoder(Format(value=kind), "value")(value, "t")
    return decoder(Format(value=kind), "value")(data, "t", ())


@pytest.mark.parametrize("kind", ["auto", "json"])
def test_structures(kind: str) -> None:
    value = {"a": 1, "b": [1.5, None, True], "c": {"d": "é"}}
    assert through(value, kind) == value


def test_what_json_has_no_type_for() -> None:
    made = encoder(Format(), "value")(
        {
            "time": datetime.datetime(2026, 11, 18, 1, 2, 3, tzinfo=datetime.UTC),
            "day": datetime.date(2026, 11, 18),
            "price": decimal.Decimal("12.50"),
            "id": uuid.UUID(int=1),
            "bytes": b"\xff",
            "span": datetime.timedelta(seconds=90),
        },
        "t",
    )
    assert json.loads(made or b"") == {
        "time": "2026-11-18T01:02:03Z",
        "day": "2026-11-18",
        "price": "12.50",
        "id": "00000000-0000-0000-0000-000000000001",
        "bytes": "/w==",
        "span": "PT90S",
    }


def test_auto_keeps_text_and_bytes() -> None:
    assert encoder(Format(), "value")("plain", "t") == b"plain"
    assert through("plain text", "auto") == "plain text"
    assert through(b"\xff\xfe", "auto") == b"\xff\xfe"
    assert through(None, "auto") is None
    assert through(b"", "auto") == b""
    assert decoder(Format(), "value")(b"{not json", "t", ()) == "{not json"


@pytest.mark.parametrize(
    ("kind", "data"), [("json", b"{"), ("json", b"\xff"), ("text", b"\xff"), ("json", b"[" * 100_000)]
)
def test_bad_bytes(kind: str, data: bytes) -> None:
    with pytest.raises(BadValue):
        decoder(Format(value=kind), "value")(data, "t", ())


@pytest.mark.parametrize(("kind", "value"), [("text", {"a": 1}), ("json", object()), ("json", {"a": {1j}})])
def test_values_that_cannot_be_encoded(kind: str, value: object) -> None:
    with pytest.raises(BadValue):
        encoder(Format(value=kind), "value")(value, "t")


@given(st.binary(max_size=200), st.sampled_from(["auto", "json", "text", "bytes"]))
def test_any_bytes_are_decoded_or_refused(data: bytes, kind: str) -> None:
    with contextlib.suppress(BadValue):
        decoder(Format(value=kind), "value")(data, "t", ())
