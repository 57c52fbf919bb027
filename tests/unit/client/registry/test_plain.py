"""Any format as JSON and back, for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from barnabas import BadSetting, Registry
from barnabas.client.serde.registry import framing
from barnabas.client.serde.registry.avro.from_json import JsonToAvro
from barnabas.client.serde.registry.plain import plain_reader, plain_writer, schema_of_file
from barnabas.client.serde.registry.schema import Schema
from tests.unit.client.registry.models import EVERYTHING, Everything
from tests.unit.client.registry.small_registry import SmallRegistry

CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
LINE = {"type": "record", "name": "Line", "fields": [{"name": "item", "type": "string"}]}
ORDER = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "small", "type": "int", "default": 1},
        {"name": "raw", "type": ["null", "bytes"], "default": None},
        {"name": "price", "type": CENTS, "default": "\u0001"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
        {"name": "line", "type": ["null", LINE], "default": None},
        {"name": "again", "type": {"type": "array", "items": "shop.Line"}, "default": []},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}, "default": "RED"},
        {"name": "more", "type": {"type": "map", "values": ["long", "string"]}, "default": {}},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "value",
    [
        {"id": 7},
        {"id": 7, "small": -1, "raw": "AP8=", "price": "12.50", "at": "2026-11-17T12:00:00Z", "colour": "BLUE"},
        {"id": 7, "line": {"item": "a"}, "again": [{"item": "b"}], "more": {"a": 1, "b": "x"}},
        {"id": 7, "line": {"shop.Line": {"item": "a"}}, "raw": {"bytes": "AA=="}, "more": {"a": {"long": 1}}},
    ],
)
def test_json_becomes_avro_and_json_again(small: SmallRegistry, value: dict[str, Any]) -> None:
    registry = Registry(small.url)
    writer = plain_writer(registry, Schema("AVRO", json.dumps(ORDER)))
    data, _ = writer.encode(value, "orders", "value")
    read = json.loads(plain_reader(registry).decode(data, "orders", "value", None))
    for name, told in value.items():
        if name == "at":
            assert read[name].startswith("2026-11-17T12:00:00")
        elif isinstance(told, dict) and set(told) & {"shop.Line", "bytes"}:
            assert read[name] == next(iter(told.values()))
        elif name == "more":
            assert read[name]["a"] == 1
        else:
            assert read[name] == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({}, r"\.id is missing, and has no default"),
        ({"id": "7"}, r"\.id: a whole number \(long\) is wanted, not '7'"),
        ({"id": 1 << 63}, r"\.id: a whole number \(long\)"),
        ({"id": True}, r"\.id: a whole number \(long\)"),
        ({"id": 7, "nmae": 1}, r"\.nmae: shop.Order has no such field; it has again, at, colour"),
        ({"id": 7, "colour": "GREEN"}, r"\.colour: one of RED, BLUE is wanted, not 'GREEN'"),
        ({"id": 7, "raw": "###"}, r"\.raw: base64 \(bytes\) is wanted"),
        ({"id": 7, "price": "much"}, r"\.price: decimal is wanted, not 'much'"),
        ({"id": 7, "at": "soon"}, r"\.at: timestamp-millis is wanted"),
        ({"id": 7, "line": {"item": 1}}, r"\.line\.item: a text is wanted, not 1"),
        ({"id": 7, "again": [{"item": "a"}, {}]}, r"\.again\[1\]\.item is missing"),
        ({"id": 7, "more": {"a": []}}, r"\.more\.a: one of long, string is wanted, not \[\]"),
        ([], r"the value: an object \(shop.Order\) is wanted, not \[\]"),
    ],
)
def test_what_does_not_fit_says_where(value: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        JsonToAvro(fastavro.parse_schema(ORDER)).convert(value)


def test_every_type_of_the_library_goes_through_json(small: SmallRegistry) -> None:
    registry = Registry(small.url)
    way = registry.avro(Everything)
    data, _ = way.encode(EVERYTHING, "t", "value")
    text = plain_reader(registry).decode(data, "t", "value", None)
    again, _ = plain_writer(registry, None).encode(json.loads(text), "t", "value")
    assert way.decode(again, "t", "value", None) == EVERYTHING


def test_files_by_their_names(tmp_path: Path) -> None:
    for name, kind in (("a.avsc", "AVRO"), ("a.json", "JSON"), ("a.proto", "PROTOBUF")):
        (tmp_path / name).write_text('"string"')
        assert schema_of_file(tmp_path / name).type == kind
    with pytest.raises(BadSetting, match="what is it"):
        schema_of_file(tmp_path / "a.txt")
    with pytest.raises(BadSetting, match=r"cannot read the Avro schema .*none.avsc: no such file"):
        schema_of_file(tmp_path / "none.avsc")


@pytest.mark.parametrize(
    ("data", "headers", "framed"),
    [
        (b"\0\0\0\0\1x", None, True),
        (b"\0\0\0\0\0\0\0\7", None, False),
        (b"hello world", None, False),
        (b"\0\0\0\7", None, False),
        (b"\1" + bytes(16), None, True),
        (b"x", [("__value_schema_id", b"\1" + bytes(16))], True),
        (b"x", [("__key_schema_id", b"\1" + bytes(16))], False),
    ],
)
def test_what_looks_as_if_it_had_a_schema(data: bytes, headers: list[tuple[str, bytes | None]], framed: bool) -> None:
    assert framing.is_framed(data, headers, "value") is framed
