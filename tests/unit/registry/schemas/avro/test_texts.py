"""What is stored of an Avro schema. The expected texts are those of Avro 1.12.1 in Java (Schema.toString), which
tests/registry/test_avro_java.py asks again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.registry.schemas.avro import parse
from barnabas.registry.schemas.json_text import written
from barnabas.registry.schemas.parsed import InvalidSchema, ReferencedSchema
from tests.unit.registry.schemas.avro.texts import array, enum, field, fixed, parsed, record

CANONICAL: list[tuple[str, str]] = [
    ('{"type": "string"}', '"string"'),
    (' "string" ', '"string"'),
    ('/* a comment */ "string"', '"string"'),
    ('{"type":"string", // a comment\n"doc":"// none"}', '"string"'),
    ('{"type":"int","logicalType":"date"}', '{"type":"int","logicalType":"date"}'),
    ('["null", {"type":"long"}]', '["null","long"]'),
    ('{"fields":[],"name":"n.s.R","type":"record"}', '{"type":"record","name":"R","namespace":"n.s","fields":[]}'),
    ('{"type":"record","name":".R","fields":[]}', '{"type":"record","name":"R","fields":[]}'),
    ('{"type":"error","name":"E","fields":[]}', '{"type":"error","name":"E","fields":[]}'),
    ('{"type":"enum","symbols":["a"],"name":"E","default":null}', '{"type":"enum","name":"E","symbols":["a"]}'),
    (
        '{"items":"int","java-class":"x","type":"array","default":[]}',
        '{"type":"array","items":"int","java-class":"x","default":[]}',
    ),
    ('{"type":"record","name":"R","doc":5,"fields":[]}', '{"type":"record","name":"R","fields":[]}'),
    (
        '{"type":"record","name":"R","doc":"\\u0001\\u001f\\"é","fields":[]}',
        '{"type":"record","name":"R","doc":"\\u0001\\u001F\\"é","fields":[]}',
    ),
]


@pytest.mark.parametrize(("text", "expected"), CANONICAL)
def test_a_text_has_one_canonical_form(text: str, expected: str) -> None:
    assert parse(text).canonical() == expected
    assert parse(expected).canonical() == expected


def test_attributes_have_the_order_that_avro_gives_them() -> None:
    type_ = {"type": "int", "logicalType": "date", "z": 1, "b": None}
    made = field("a", type_, x=1, aliases=["q"], order="descending", doc="d", default=5)
    schema = record("R", made, zz={"b": 1, "a": 2}, aliases=["A", "n.B"], namespace="n.s", doc="")
    assert parsed(schema).canonical() == (
        '{"type":"record","name":"R","namespace":"n.s","doc":"","fields":[{"name":"a","type":'
        '{"type":"int","logicalType":"date","z":1,"b":null},"doc":"d","default":5,"order":"descending",'
        '"aliases":["q"],"x":1}],"zz":{"b":1,"a":2},"aliases":["A","n.B"]}'
    )


@pytest.mark.parametrize(
    ("default", "expected"),
    [
        ("1.5", "1.5"),
        (1, "1"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (1e-5, "1.0E-5"),
        (5e-324, "5.0E-324"),
        (9999999.0, "9999999.0"),
        (12345678.0, "1.2345678E7"),
        (123456789.125, "1.23456789125E8"),
        (1e10, "1.0E10"),
        (-1.5e300, "-1.5E300"),
        ("NaN", '"NaN"'),
        ("-Infinity", '"-Infinity"'),
    ],
)
def test_numbers_are_written_as_java_prints_them(default: Any, expected: str) -> None:
    assert f'"default":{expected}}}' in parsed(record("R", field("f", "double", default=default))).canonical()


def test_a_name_is_defined_at_its_first_use() -> None:
    inner = record("X", namespace="")
    schema = record("M", field("c", inner), field("d", "X"), field("e", "n.M"), namespace="n")
    assert parsed(schema).canonical() == (
        '{"type":"record","name":"M","namespace":"n","fields":[{"name":"c","type":{"type":"record","name":"X",'
        '"namespace":"","fields":[]}},{"name":"d","type":"X"},{"name":"e","type":"M"}]}'
    )
    called_int = record("M", field("r", record("int", namespace="q")), field("s", "q.int"), namespace="q")
    assert parsed(called_int).canonical().endswith('{"name":"s","type":"q.int"}]}')


def test_references_stay_names_until_they_are_resolved() -> None:
    inner = ReferencedSchema("B", json.dumps(record("B", field("x", "int"))))
    outer = ReferencedSchema("A", json.dumps(record("A", field("b", "B"))))
    schema = parse(json.dumps(record("M", field("a", "A"), field("b", "B"))), [inner, outer])
    assert (
        schema.canonical() == '{"type":"record","name":"M","fields":[{"name":"a","type":"A"},{"name":"b","type":"B"}]}'
    )
    assert schema.formatted("resolved") == (
        '{"type":"record","name":"M","fields":[{"name":"a","type":{"type":"record","name":"A","fields":[{"name":"b",'
        '"type":{"type":"record","name":"B","fields":[{"name":"x","type":"int"}]}}]}},{"name":"b","type":"B"}]}'
    )
    assert schema.formatted("no such format") == schema.canonical()


def test_a_type_within_a_reference_is_written_out_and_can_be_read_again() -> None:
    outer = ReferencedSchema("A", json.dumps(record("A", field("b", record("B", field("x", "int", doc="of x"))))))
    schema = parse(json.dumps(record("M", field("b", "B"), field("c", "B"))), [outer])
    assert '"type":{"type":"record","name":"B"' in schema.canonical()
    assert parse(schema.canonical(), [outer]).canonical() == schema.canonical()
    with pytest.raises(InvalidSchema, match="B is defined twice, and not in the same way"):
        parse(json.dumps(record("M", field("b", record("B", field("x", "long"))))), [outer])


def test_normalized_is_the_same_for_what_has_no_order() -> None:
    decimal = {"type": "bytes", "z": {"b": 1, "a": 2}, "scale": 2, "precision": 4, "logicalType": "decimal"}
    default = field("f", "double", default=1, order="ascending", aliases=["y", "x"])
    one = record("R", field("d", decimal), default, doc="", aliases=["n.Z", "n.A"], namespace="n", b=1, a=2)
    assert parsed(one).normalized() == (
        '{"type":"record","name":"R","namespace":"n","fields":[{"name":"d","type":{"type":"bytes",'
        '"logicalType":"decimal","precision":4,"scale":2,"z":{"a":2,"b":1}}},'
        '{"name":"f","type":"double","default":1.0,"aliases":["x","y"]}],"a":2,"b":1,"aliases":["A","Z"]}'
    )
    assert parse(parsed(one).normalized()).normalized() == parsed(one).normalized()


@pytest.mark.parametrize(
    ("type_", "default", "expected"),
    [
        ({"type": "map", "values": "double"}, {"b": 1, "a": 2}, '{"a":2.0,"b":1.0}'),
        ("float", 0.1234567891, "0.12345679"),
        ("float", 100000000, "1.0E8"),
        (["null", "int"], None, "null"),
        (["null", "double"], 1, "1"),  # Confluent's loses it
        (["double", "null"], 1, "1.0"),
        (array(record("X", field("z", "double"))), [{"z": 1}], '[{"z":1.0}]'),
        ("long", 5, "5"),
    ],
)
def test_normalized_defaults(type_: Any, default: Any, expected: str) -> None:
    assert f'"default":{expected}}}' in parsed(record("R", field("f", type_, default=default))).normalized()


INVALID: list[tuple[str, str]] = [
    ("", "not JSON"),
    ("string", "not JSON: Expecting value in line 1, column 1"),
    ('"string" x', "not JSON: Extra data"),
    ("NaN", "not JSON: NaN is no number"),
    ("1e999", "beyond a double"),
    ("9" * 5000, "not JSON"),
    ('"\\ud800"', "half of a surrogate pair"),
    ("null", "null is no type"),
    ("5", "5 is no type"),
    ("{}", "no type in {}"),
    ('{"type":{"type":"string"}}', "no type in"),
    ('"Never"', "type 'Never' is not defined"),
    ('{"type":"array"}', "array without items"),
    ('{"type":"map"}', "map without values"),
    ('{"type":"record","name":"R"}', "record R has no list of fields"),
    ('{"type":"record","fields":[]}', "no name in"),
    ('{"type":"record","name":"1x","fields":[]}', "does not begin with a letter"),
    ('{"type":"record","name":"x-y","fields":[]}', "no letter, digit or _"),
    ('{"type":"record","name":"x","namespace":"a..b","fields":[]}', "is no name"),
    ('{"type":"record","name":"int","fields":[]}', "cannot be called int"),
    ('{"type":"record","name":"R","aliases":"x","fields":[]}', "aliases of R are no list"),
    ('{"type":"record","name":"R","fields":[5]}', "a field of record R has no name"),
    ('{"type":"record","name":"R","fields":[{"name":"f"}]}', "field f of record R has no type"),
    ('{"type":"record","name":"R","fields":[{"name":"f","type":"int","order":"up"}]}', "order of field f"),
    (
        '{"type":"record","name":"R","fields":[{"name":"f","type":"R","default":{}}]}',
        "cannot be a value of that record",
    ),
    ('{"type":"enum","name":"E"}', "enum E has no list of symbols"),
    ('{"type":"enum","name":"E","symbols":["a",1]}', "symbol of enum E: 1 is no name"),
    ('{"type":"enum","name":"E","symbols":["a","a"]}', "enum E has symbol a twice"),
    ('{"type":"enum","name":"E","symbols":["a"],"default":"b"}', 'default "b" of enum E is none of its symbols'),
    ('{"type":"fixed","name":"F","size":-3}', "size of fixed F"),
    ('{"type":"fixed","name":"F","size":1.0}', "size of fixed F"),
    ('{"type":"fixed","name":"F","size":true}', "size of fixed F"),
    ('["int","int"]', "int is twice in a union"),
    ('["int",["null"]]', "a union directly in a union"),
]


@pytest.mark.parametrize(("text", "message"), INVALID, ids=range(len(INVALID)))
def test_what_is_no_schema_is_named_in_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        parse(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_DEFAULTS: list[tuple[Any, Any]] = [
    ("int", "x"),
    ("int", 1.0),
    ("int", 2**31),
    ("int", True),
    ("long", 2**63),
    ("string", 5),
    ("boolean", 0),
    ("null", 0),
    (["null", "int"], "x"),
    (array("int"), [1, "x"]),
    ({"type": "map", "values": "int"}, {"a": None}),
    (record("X", field("a", "int")), {}),
    (enum("E", "a"), 1),
    (fixed("F", 1), 1),
]


@pytest.mark.parametrize(("type_", "default"), BAD_DEFAULTS)
def test_a_default_has_to_fit_its_type_in_a_new_schema(type_: Any, default: Any) -> None:
    schema = record("R", field("f", type_, default=default))
    with pytest.raises(InvalidSchema, match="default of field f of record R is no"):
        parsed(schema)
    assert written(default) in parsed(schema, stored=True).canonical()


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        (["null", "int"], 5),  # any branch, since Avro 1.12
        (enum("E", "a"), "not one of them"),  # Java's parser does not look
        (fixed("F", 3), "x"),
        (record("X", field("a", "int", default=1)), {}),
        (["int", record("X", field("a", ["null", "string"]))], {"a": "x"}),
        (array(array("int")), [[1], []]),
    ],
)
def test_defaults_that_fit(type_: Any, default: Any) -> None:
    parsed(record("R", field("f", type_, default=default)))


def test_names_of_a_stored_schema_may_have_namespaces_of_its_time() -> None:
    schema = record("R", namespace="com.foo-bar")
    with pytest.raises(InvalidSchema, match="part of namespace com"):
        parsed(schema)
    assert '"namespace":"com.foo-bar"' in parsed(schema, stored=True).canonical()
