"""What changed between two schemas, in words."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, text_format

from barnabas.operate.schemas.changes import CHANGES_MAX, changes, pretty


def record(*fields: dict[str, Any], name: str = "Order") -> str:
    return json.dumps({"type": "record", "name": name, "fields": list(fields)})


LINE = {"type": "record", "name": "Line", "fields": [{"name": "item", "type": "string"}]}
LINE_2 = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "item", "type": "string"}, {"name": "n", "type": "int"}],
}
RED = {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE"]}
GREEN = {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}
CENTS = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (record(), record(), []),
        ('"string"', '{"type": "string"}', []),
        ('"int"', '"long"', ["int became long"]),
        (record({"name": "a", "type": "int"}), record(), ["field a (int) was removed"]),
        (
            record(),
            record({"name": "a", "type": ["null", "string"], "default": None}, {"name": "b", "type": CENTS}),
            [
                "field a (null or string, default null) was added",
                "field b (decimal(6, 2), without a default) was added",
            ],
        ),
        (
            record({"name": "a", "type": "int"}),
            record({"name": "a", "type": "long", "default": 1}),
            ["a: int became long", "field a: it has the default 1 now"],
        ),
        (
            record({"name": "a", "type": "int", "default": 1}),
            record({"name": "a", "type": "int", "default": 2}),
            ["field a: its default 1 became 2"],
        ),
        (
            record({"name": "a", "type": "int", "default": 1}),
            record({"name": "a", "type": "int"}),
            ["field a: its default 1 is gone"],
        ),
        (
            record({"name": "lines", "type": {"type": "array", "items": LINE}}),
            record({"name": "lines", "type": {"type": "array", "items": LINE_2}}),
            ["field lines.[]n (int, without a default) was added"],
        ),
        (
            record({"name": "c", "type": RED}),
            record({"name": "c", "type": GREEN}),
            ['c: symbol "BLUE" of Colour was removed', 'c: symbol "GREEN" of Colour was added'],
        ),
        (
            record({"name": "u", "type": ["null", "int"]}),
            record({"name": "u", "type": ["null", "string"]}),
            ["u: int is not in the union any more", "u: string was added to the union"],
        ),
        (
            record({"name": "a", "type": "int"}, {"name": "b", "type": "int"}),
            record({"name": "b", "type": "int"}, {"name": "a", "type": "int"}),
            ["the fields stand in another order"],
        ),
        (record(), record(name="Payment"), ["the record Order is called Payment now"]),
    ],
)
def test_avro(old: str, new: str, told: list[str]) -> None:
    assert changes("AVRO", old, new) == told


def test_json_schema() -> None:
    old = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 0}, "gone": {}},
        "required": ["a"],
        "$defs": {"X": {"type": "string"}},
    }
    new = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"]}, "b": {"type": "integer", "minimum": 1}, "c": {"$ref": "#/$defs/X"}
        },
        "required": ["b"],
        "additionalProperties": False,
        "$defs": {"X": {"type": "string", "maxLength": 5}},
    }  # fmt: skip
    assert changes("JSON", json.dumps(old), json.dumps(new)) == [
        "property #/properties/gone (anything) was removed",
        '#/properties/a: type "string" became ["string", "null"]',
        "#/properties/b: minimum 0 became 1",
        "property #/properties/c (#/$defs/X) was added",
        "#/$defs/X: maxLength 5 was added",
        "#/properties/b is required now",
        "#/properties/a is not required any more",
        "#: additionalProperties false was added",
    ]
    assert changes("JSON", "true", '{"type": "object"}') == ['#: "True" became {"type": "object"}']


def proto(text: str) -> str:
    file = text_format.Parse(text, descriptor_pb2.FileDescriptorProto())
    return base64.b64encode(file.SerializeToString()).decode()


def test_protobuf() -> None:
    old = proto(
        """package: "shop" message_type { name: "Order"
             field { name: "id" number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 }
             field { name: "note" number: 2 label: LABEL_OPTIONAL type: TYPE_STRING }
             field { name: "line" number: 3 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".shop.Line" }
             enum_type { name: "Colour" value { name: "RED" number: 0 } value { name: "BLUE" number: 1 } } }
           message_type { name: "Gone" }"""
    )
    new = proto(
        """package: "store" message_type { name: "Order"
             field { name: "number" number: 1 label: LABEL_OPTIONAL type: TYPE_INT64 }
             field { name: "line" number: 3 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".shop.Line" }
             field { name: "at" number: 4 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
             oneof_decl { name: "when" }
             nested_type { name: "Line" }
             enum_type { name: "Colour" value { name: "CRIMSON" number: 0 } value { name: "GREEN" number: 2 } } }"""
    )
    assert changes("PROTOBUF", old, new) == [
        "the package shop became store",
        "message Gone was removed",
        "field Order.note = 2 (string) was removed",
        "field Order.id = 1 is called number now",
        "field Order.number = 1: int32 became int64",
        "field Order.line = 3: shop.Line became repeated shop.Line",
        "field Order.at = 4 (string) was added",
        "message Order.Line was added",
        "value Order.Colour.BLUE = 1 was removed",
        "value Order.Colour.RED = 0 is called CRIMSON now",
        "value Order.Colour.GREEN = 2 was added",
    ]
    assert changes("PROTOBUF", "not base64", new) == []


def test_many_changes_are_counted() -> None:
    new = record(*({"name": f"f{number}", "type": "int"} for number in range(CHANGES_MAX + 5)))
    found = changes("AVRO", record(), new)
    assert len(found) == CHANGES_MAX + 1
    assert found[-1] == "and 5 more"


def test_schemas_in_lines() -> None:
    assert pretty("AVRO", '{"type":"int"}') == '{\n  "type": "int"\n}'
    assert pretty("PROTOBUF", "message A {}\n") == "message A {}"
    assert pretty("JSON", "{") == "{"
