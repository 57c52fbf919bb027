"""Values survive the way out and back; what does not fit is refused with a reason."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.wrappers_pb2 import Int64Value, StringValue
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.errors import BadSetting
from barnabas.client.serde.serializers import Avro, Bytes, Json, Protobuf, Serializer, String, decoder, encoder

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"], "default": None}],
}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.text())
def test_string(value: str) -> None:
    assert String().from_bytes(String().to_bytes(value)) == value


@given(json_values)
def test_json(value: Any) -> None:
    assert Json().from_bytes(Json().to_bytes(value)) == value


@given(st.integers(-(2**63), 2**63 - 1), st.none() | st.text())
def test_avro(number: int, note: str | None) -> None:
    serializer = Avro(ORDER)
    assert serializer.from_bytes(serializer.to_bytes({"id": number, "note": note})) == {"id": number, "note": note}


@given(st.text())
def test_protobuf(text: str) -> None:
    serializer = Protobuf(StringValue)
    assert serializer.from_bytes(serializer.to_bytes(StringValue(value=text))).value == text


def test_bytes_are_left_alone() -> None:
    assert Bytes().to_bytes(memoryview(b"ab")) == b"ab"
    assert Bytes().from_bytes(b"ab") == b"ab"


def test_json_reads_into_a_type_and_refuses_what_does_not_fit() -> None:
    @dataclasses.dataclass
    class Order:
        id: int
        at: datetime.datetime

    order = Order(7, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))
    assert Json(Order).from_bytes(Json().to_bytes(order)) == order
    with pytest.raises(Exception, match="Expected `int`"):
        Json(Order).from_bytes(b'{"id": "seven", "at": "2026-01-02T00:00:00Z"}')


def test_json_writes_integers_of_any_size() -> None:
    assert Json().to_bytes({"n": 2**100}) == b'{"n":1267650600228229401496703205376}'


def test_avro_reads_what_an_older_schema_wrote() -> None:
    old = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    assert Avro(ORDER, written_with=old).from_bytes(Avro(old).to_bytes({"id": 7})) == {"id": 7, "note": None}


def test_avro_takes_a_schema_as_text_or_file(tmp_path: Path) -> None:
    path = tmp_path / "number.avsc"
    path.write_text('{"type": "long"}')
    assert Avro(path).to_bytes(7) == Avro(str(path)).to_bytes(7) == Avro('"long"').to_bytes(7) == b"\x0e"


def test_an_avro_schema_whose_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"cannot read the Avro schema .*none\.avsc: no such file"):
        Avro(str(tmp_path / "none.avsc"))


@pytest.mark.parametrize(
    ("serializer", "value", "reason"),
    [
        (String(), 7, "a str wanted, not int"),
        (Bytes(), "text", "bytes wanted, not str"),
        (Json(), object(), "unsupported"),
        (Avro(ORDER), {"id": "seven"}, "int|long|str"),
        (Protobuf(StringValue), Int64Value(value=1), "of the class StringValue, not Int64Value"),
    ],
)
def test_values_that_do_not_fit(serializer: Serializer, value: Any, reason: str) -> None:
    with pytest.raises(Exception, match=reason):
        serializer.to_bytes(value)


@pytest.mark.parametrize(
    ("serializer", "data"),
    [
        (String(), b"\xff"),
        (Json(), b"{"),
        (Json(), b""),
        (Avro(ORDER), b""),
        (Avro('"long"'), b"\x0e\x00"),
        (Protobuf(StringValue), b"\xff\xff"),
    ],
)
def test_bytes_that_do_not_fit(serializer: Serializer, data: bytes) -> None:
    with pytest.raises(Exception):  # noqa: B017  each library has its own; the consumer wraps them all
        serializer.from_bytes(data)


def test_shorthands_and_functions() -> None:
    json, upper = encoder("json"), encoder(lambda value: value.upper().encode())
    assert json is not None and json([1]) == b"[1]"
    assert upper is not None and upper("a") == b"A"
    assert encoder(None) is None
    assert decoder("bytes") is None, "bytes are handed on without a call"


@pytest.mark.parametrize("wrong", ["yaml", Json, 7])
def test_what_is_no_serializer(wrong: Any) -> None:
    with pytest.raises(BadSetting):
        encoder(wrong)


@pytest.mark.parametrize("schema", ["{", {"type": "nonsense"}, {"type": "record"}])
def test_what_is_no_schema(schema: Any) -> None:
    with pytest.raises(BadSetting, match="not an Avro schema"):
        Avro(schema)
