"""What is taken as a JSON Schema, what is stored of it, and where a $ref leads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.registry.schemas.json_schema import parse
from barnabas.registry.schemas.parsed import InvalidSchema, ReferencedSchema

ADDRESS = {"type": "object", "properties": {"city": {"type": "string"}}}


@pytest.mark.parametrize(
    ("text", "canonical", "normalized"),
    [
        (' { "type" : "string" } ', '{"type":"string"}', '{"type":"string"}'),
        ("true", "true", "true"),
        ('{"b":1.50,"a":[{"d":1e5,"c":0.0000001}]}', '{"b":1.50,"a":[{"d":1E+5,"c":1E-7}]}',
         '{"a":[{"c":1E-7,"d":1E+5}],"b":1.50}'),
        ('{"title":"\\u00e9\\u001f/"}', '{"title":"é\\u001F/"}', '{"title":"é\\u001F/"}'),
    ],
)  # fmt: skip
def test_the_text_is_kept_but_for_white_space(text: str, canonical: str, normalized: str) -> None:
    schema = parse(text)
    assert (schema.canonical(), schema.normalized()) == (canonical, normalized)
    assert schema.formatted("resolved") == canonical
    assert parse(canonical).canonical() == canonical


INVALID: list[tuple[Any, str]] = [
    (5, "# is no schema"),
    ([], "# is no schema"),
    ({"type": "text"}, "type is not the name of a type"),
    ({"type": ["string", "string"]}, "type is not the name of a type"),
    ({"properties": {"a": {"type": 5}}}, "#/properties/a: type is not the name of a type"),
    ({"properties": {"a": 5}}, "#/properties/a is no schema"),
    ({"properties": []}, "#/properties is no object of schemas"),
    ({"allOf": []}, "#/allOf is no list of schemas"),
    ({"anyOf": {}}, "#/anyOf is no list of schemas"),
    ({"not": None}, "#/not is no schema"),
    ({"items": 5}, "#/items is no schema"),
    ({"items": [5]}, "#/items/0 is no schema"),
    ({"required": "a"}, "required is not a list"),
    ({"required": ["a", "a"]}, "required is not a list"),
    ({"maxLength": -1}, "maxLength is not a number of characters"),
    ({"maxLength": 1.5}, "maxLength is not a number of characters"),
    ({"maximum": "5"}, "maximum is not a number"),
    ({"maximum": True}, "maximum is not a number"),
    ({"exclusiveMaximum": True}, "exclusiveMaximum is not a number"),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMaximum": 5}, "is not true or false"),
    ({"multipleOf": 0}, "multipleOf is not a number above 0"),
    ({"enum": "a"}, "enum is not a list"),
    ({"dependencies": {"a": [1]}}, "#/dependencies/a is neither a schema nor a list of names"),
    ({"definitions": {"a": 5}}, "#/definitions/a is no schema"),
    ({"$ref": 5}, "$ref is not a text"),
    ({"$ref": "#/definitions/a"}, "leads nowhere: there is nothing at that place"),
    ({"$ref": "#a"}, "leads nowhere: there is no such anchor"),
    ({"$ref": "other.json"}, "leads nowhere: name it in the references"),
    ({"$ref": "http://["}, "leads nowhere"),
    ({"$ref": "#"}, "refers to itself"),
    ({"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}},
     "refers to itself"),
    ({"$ref": "#/title", "title": "a"}, "is no schema"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "message"), INVALID, ids=range(len(INVALID)))
def test_what_is_no_schema_is_named_in_one_line(schema: Any, message: str) -> None:
    with pytest.raises(InvalidSchema) as caught:
        parse(json.dumps(schema))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", '{"a":NaN}', '{"a":1e400}', '{"a":1e-400}', "{'a':1}", '{"a":"\\ud800"}'])
def test_what_is_no_json(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse(text)


def test_unknown_keywords_and_those_of_other_drafts_are_passed_over() -> None:
    parse(json.dumps({"maxContains": "x", "prefixItems": 5, "unknown": {"type": 5}, "confluent:tags": ["PII"]}))
    parse(json.dumps({"$schema": "http://json-schema.org/draft-04/schema#", "const": 1, "if": 5}))


REFERENCES: list[tuple[str, Any]] = [
    ("the name", {"$ref": "address.json"}),
    ("a pointer", {"$ref": "address.json#/definitions/a", "x": 1}),
    ("an address", {"$id": "http://example.com/schemas/person.json", "items": {"$ref": "address.json"}}),
    ("the whole address", {"$id": "http://example.com/schemas/person.json",
                           "items": {"$ref": "http://example.com/schemas/address.json"}}),
    ("an anchor", {"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#here",
                   "$defs": {"a": {"$anchor": "here", "type": "string"}}}),
    ("an id", {"$ref": "item.json", "definitions": {"a": {"$id": "item.json", "type": "string"}}}),
    ("a name of draft-07", {"$ref": "#here", "definitions": {"a": {"$id": "#here", "type": "string"}}}),
    ("escapes", {"$ref": "#/definitions/a~1b%25", "definitions": {"a/b%": {"type": "string"}}}),
    ("the meta-schema", {"$ref": "http://json-schema.org/draft-07/schema#"}),
    ("a place that is no definition", {"$ref": "#/x/0", "x": [{"$ref": "#/y"}], "y": {"type": "string"}}),
]  # fmt: skip


@pytest.mark.parametrize("schema", [each[1] for each in REFERENCES], ids=[each[0] for each in REFERENCES])
def test_where_a_ref_leads(schema: Any) -> None:
    address = ReferencedSchema("address.json", json.dumps({**ADDRESS, "definitions": {"a": {"type": "string"}}}))
    assert not parse(json.dumps(schema), [address]).unreadable(parse(json.dumps(schema), [address]))


def test_references_are_compared_and_bundled() -> None:
    person = json.dumps({"type": "object", "properties": {"home": {"$ref": "address.json"}}})
    old = parse(person, [ReferencedSchema("address.json", json.dumps(ADDRESS))])
    changed = json.dumps({"type": "object", "properties": {"city": {"type": "number"}}})
    new = parse(person, [ReferencedSchema("address.json", changed)])
    assert [(each.kind, each.path) for each in new.unreadable(old)] == [
        ("TYPE_CHANGED", "#/properties/home/properties/city")
    ]
    bundled = new.formatted("resolved")
    assert '"definitions":{"address.json":{"$id":"address.json","type":"object"' in bundled
    assert not parse(bundled).unreadable(new)
    assert not new.unreadable(parse(bundled))


def test_a_stored_schema_may_refer_to_what_is_gone() -> None:
    text = '{"$ref":"http://example.com/gone.json"}'
    with pytest.raises(InvalidSchema, match="leads nowhere"):
        parse(text)
    assert parse(text, stored=True).canonical() == text
