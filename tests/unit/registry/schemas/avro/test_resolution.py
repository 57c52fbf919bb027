"""Why data of one schema cannot be read with another: kinds and paths are those of Avro 1.12.1 in Java, which
tests/registry/test_avro_java.py asks again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.registry.schemas.avro.texts import array, enum, field, fixed, map_of, parsed, record

CASES: list[tuple[str, Any, Any, list[tuple[str, str]]]] = [
    ("another type", "int", "string", [("TYPE_MISMATCH", "/")]),
    ("another name", record("A"), record("B"), [("NAME_MISMATCH", "/name")]),
    ("another namespace", record("A", namespace="x"), record("A", namespace="y"), []),
    ("an alias", record("A", aliases=["B"]), record("B"), []),
    ("an alias in its namespace", record("A", namespace="x", aliases=["B"]), record("B", namespace="x"), []),
    ("an alias elsewhere", record("A", namespace="x", aliases=["B"]), record("B", namespace="y"),
     [("NAME_MISMATCH", "/name")]),
    ("a field without default", record("A", field("a", "int"), field("q", "int")), record("A", field("a", "int")),
     [("READER_FIELD_MISSING_DEFAULT_VALUE", "/fields/1")]),
    ("a field with default", record("A", field("q", "int", default=1)), record("A"), []),
    ("a field that went", record("A"), record("A", field("q", "int")), []),
    ("a field of another type", record("A", field("b", "int"), field("a", "int")),
     record("A", field("a", "string"), field("b", "long")),
     [("TYPE_MISMATCH", "/fields/0/type"), ("TYPE_MISMATCH", "/fields/1/type")]),
    ("a field's alias", record("A", field("b", "int", aliases=["a"])), record("A", field("a", "int")), []),
    ("two fields match", record("A", field("b", "int", aliases=["a"])),
     record("A", field("a", "int"), field("b", "int")), [("NAME_MISMATCH", "/fields/0")]),
    ("symbols", enum("E", "a"), enum("E", "a", "z", "c"), [("MISSING_ENUM_SYMBOLS", "/symbols")]),
    ("symbols and a default", enum("E", "a", default="a"), enum("E", "a", "z"), []),
    ("name and symbols", enum("F", "a"), enum("E", "b"),
     [("NAME_MISMATCH", "/name"), ("MISSING_ENUM_SYMBOLS", "/symbols")]),
    ("size", fixed("F", 3), fixed("F", 4), [("FIXED_SIZE_MISMATCH", "/size")]),
    ("a type into a union", ["null", "int"], "string", [("MISSING_UNION_BRANCH", "/")]),
    ("a union into a type", "int", ["null", "int", "string"], [("TYPE_MISMATCH", "/0"), ("TYPE_MISMATCH", "/2")]),
    ("unions", ["null", "int"], ["string", "int", "boolean"],
     [("MISSING_UNION_BRANCH", "/0"), ("MISSING_UNION_BRANCH", "/2")]),
    ("promotion within unions", ["null", "long"], ["null", "int"], []),
    ("an alias within unions", [record("A"), record("B", aliases=["C"])], [record("C")], []),
    ("empty unions", [], ["int"], [("MISSING_UNION_BRANCH", "/0")]),
    ("items", array("int"), array("string"), [("TYPE_MISMATCH", "/items")]),
    ("values", map_of(["null", "int"]), map_of(["string"]), [("MISSING_UNION_BRANCH", "/values/0")]),
    ("deep", record("A", field("x", record("B", field("y", array(["null", enum("E", "a")]))))),
     record("A", field("x", record("B", field("y", array(["null", enum("E", "b")]))))),
     [("MISSING_UNION_BRANCH", "/fields/0/type/fields/0/type/items/1")]),
    ("recursive", record("A", field("n", ["null", "A"]), field("v", "int")),
     record("A", field("n", ["null", "A"]), field("v", "string")), [("TYPE_MISMATCH", "/fields/1/type")]),
    ("logical types do not count", {"type": "int", "logicalType": "date"},
     {"type": "int", "logicalType": "time-millis"}, []),
    ("bytes and string", ["bytes"], ["string"], []),
    ("bytes and fixed", "bytes", fixed("F", 3), [("TYPE_MISMATCH", "/")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("reader", "writer", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_kinds_and_paths(reader: Any, writer: Any, expected: list[tuple[str, str]]) -> None:
    found = parsed(reader).unreadable(parsed(writer))
    assert [(each.kind, each.path) for each in found] == expected
    assert all(each.message and "\n" not in each.message for each in found)


PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
PROMOTED = {("long", "int"), ("float", "int"), ("float", "long"), ("double", "int"), ("double", "long")} | {
    ("double", "float"),
    ("bytes", "string"),
    ("string", "bytes"),
}


@pytest.mark.parametrize("reader", PRIMITIVES)
def test_promotion(reader: str) -> None:
    for writer in PRIMITIVES:
        readable = not parsed(reader).unreadable(parsed(writer))
        assert readable == (reader == writer or (reader, writer) in PROMOTED), (reader, writer)


def test_messages_say_what_does_not_fit() -> None:
    reader = record("A", field("q", "int"), field("u", ["null", record("B", field("x", "int"))]))
    writer = record("A", field("u", ["null", record("B", field("x", "string"))]))
    first, second = parsed(reader).unreadable(parsed(writer))
    assert first.message == "field 'q' has no default, and data does not have it"
    assert second.path == "/fields/1/type/1"
    assert second.message == (
        "data of record 'B' fits no branch of the union (type null, record 'B'); the nearest: "
        "data of type string cannot be read as type int (/fields/1/type/1/fields/0/type)"
    )


def test_what_an_assumption_made_readable_is_looked_at_again() -> None:
    """B is found readable while A, which has it, is taken to be; but A is not, and so B is not."""

    def schema(leaf: str) -> Any:
        a = record("A", field("b", record("B", field("a", ["A", "null"]))), field("leaf", leaf))
        return record("R", field("first", ["null", a, "string"]), field("second", "B"))

    found = parsed(schema("int")).unreadable(parsed(schema("string")))
    assert [(each.kind, each.path) for each in found] == [
        ("MISSING_UNION_BRANCH", "/fields/0/type/1"),
        ("MISSING_UNION_BRANCH", "/fields/1/type/fields/0/type/0"),
    ]
