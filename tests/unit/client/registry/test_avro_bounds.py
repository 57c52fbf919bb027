"""Data that fastavro would end the process with, or take minutes or gigabytes for, are refused; all others pass."""

from __future__ import annotations

import io
import os
import time
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.client.serde.registry.avro.bounds import HarmfulData, check_for
from barnabas.client.serde.serializers import Avro

LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
TREE = {
    "type": "record",
    "name": "T",
    "fields": [{"name": "v", "type": "long"}, {"name": "of", "type": {"type": "array", "items": "T"}}],
}
ENDLESS = {"type": "record", "name": "E", "fields": [{"name": "e", "type": "E"}]}
NULLS = {"type": "array", "items": "null"}
NOTHINGS = {
    "type": "array",
    "items": {
        "type": "record",
        "name": "N",
        "fields": [{"name": "f", "type": {"type": "fixed", "name": "Z", "size": 0}}],
    },
}
DECIMAL = {
    "type": "record",
    "name": "D",
    "fields": [{"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}}],
}
MIXED = {
    "type": "record",
    "name": "ns.M",
    "fields": [
        {"name": "a", "type": ["null", "string", {"type": "map", "values": "double"}]},
        {"name": "b", "type": {"type": "enum", "name": "K", "symbols": ["X", "Y"]}},
        {"name": "c", "type": {"type": "array", "items": ["int", "ns.K", "boolean", "float"]}},
        {"name": "d", "type": {"type": "fixed", "name": "F", "size": 3}},
        {"name": "e", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "f", "type": ["null", "ns.M"]},
        {"name": "g", "type": {"type": "array", "items": "null"}},
    ],
}


def doubling(levels: int) -> Any:
    """Two in each: a million million values of no data."""
    found: Any = {
        "type": "record",
        "name": "R0",
        "fields": [{"name": "a", "type": "null"}, {"name": "b", "type": "null"}],
    }
    for level in range(1, levels):
        fields = [{"name": "a", "type": found}, {"name": "b", "type": f"R{level - 1}"}]
        found = {"type": "record", "name": f"R{level}", "fields": fields}
    return found


def number(value: int) -> bytes:
    value, out = value << 1, b""
    while value > 127:
        value, out = value >> 7, out + bytes([value & 127 | 128])
    return out + bytes([value])


@pytest.mark.parametrize(
    ("schema", "data"),
    [
        (LIST, b"\2" * 100_000 + b"\0"),
        (TREE, b"\2\2" * 50_000),
        (ENDLESS, b""),
        (doubling(40), b""),
        (NULLS, number(2**40) + b"\0"),
        (NULLS, number(90_000) * 2 + b"\0"),
        (NOTHINGS, number(2**40) + b"\0"),
        (DECIMAL, number(200_000) + os.urandom(200_000)),
    ],
)
def test_harmful_data_are_refused_at_once(schema: Any, data: bytes) -> None:
    began = time.process_time()
    with pytest.raises(HarmfulData):
        Avro(schema).from_bytes(data)
    assert time.process_time() - began < 0.5


def test_ordinary_schemas_cost_nothing() -> None:
    fields = [{"name": "a", "type": "string"}, {"name": "b", "type": {"type": "array", "items": ["null", "long"]}}]
    assert check_for(fastavro.parse_schema({"type": "record", "name": "R", "fields": fields})) is None


VALUES = st.recursive(
    st.none(),
    lambda inner: st.fixed_dictionaries(
        {
            "a": st.none() | st.text() | st.dictionaries(st.text(), st.floats(allow_nan=False)),
            "b": st.sampled_from(["X", "Y"]),
            "c": st.lists(st.integers(-(2**31), 2**31 - 1) | st.booleans()),
            "d": st.binary(min_size=3, max_size=3),
            "e": st.integers(0, 2**40),
            "f": inner,
            "g": st.lists(st.none()),
        }
    ),
    max_leaves=5,
).filter(lambda value: value is not None)


@settings(max_examples=150, deadline=None)
@given(VALUES, st.binary(max_size=30))
def test_whatever_fastavro_writes_passes_to_its_end(value: Any, before: bytes) -> None:
    parsed = fastavro.parse_schema(MIXED)
    check = check_for(parsed)
    assert check is not None
    out = io.BytesIO()
    fastavro.schemaless_writer(out, parsed, value)
    check(before + out.getvalue(), len(before))
    with pytest.raises(HarmfulData):
        check(out.getvalue()[:-1], 0)
