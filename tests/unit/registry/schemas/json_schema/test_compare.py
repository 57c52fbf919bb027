"""Which changes of a JSON Schema are compatible, by Confluent's kinds and paths."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.registry.schemas.json_schema import parse

A, B, OPEN = {"type": "string"}, {"type": "number"}, {"type": "object"}
CLOSED = {"type": "object", "additionalProperties": False}


def of(properties: dict[str, Any], *required: str, **others: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), **others}


# what was, what is new, and what is wrong with that
CASES: list[tuple[Any, Any, list[str]]] = [
    ({}, {}, []),
    (True, {}, []),
    (A, True, []),
    (False, A, []),
    (A, False, ["TYPE_CHANGED #/"]),
    ({}, A, ["TYPE_CHANGED #/"]),
    ({"id": "a", "title": "b", "description": "c", "default": 1}, {"$id": "d", "title": "e"}, []),
    (A, B, ["TYPE_CHANGED #/"]),
    ({"type": "integer"}, B, []),
    (B, {"type": "integer"}, ["TYPE_NARROWED #/"]),
    ({"maxLength": 3}, {"type": "string", "maxLength": 3}, ["TYPE_NARROWED #/"]),
    ({"type": ["string"]}, {"type": ["string", "null"]}, []),
    ({"type": ["string", "null"]}, {"type": ["string"]}, ["SUM_TYPE_NARROWED #/"]),
    ({"type": ["string", "null"]}, {"type": ["string", "number"]}, ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"]),
    ({"type": ["string", "null"]}, {"anyOf": [A, {"type": "null"}]}, []),
    (A, {"type": "string", "minLength": 0}, []),
    ({"type": "string", "minLength": 5}, {"type": "string", "minLength": 6}, ["MIN_LENGTH_INCREASED #/minLength"]),
    ({"type": "string", "minLength": 5}, {"type": "string", "minLength": 4}, []),
    (A, {"type": "string", "minLength": 6}, ["MIN_LENGTH_ADDED #/minLength"]),
    ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 4}, ["MAX_LENGTH_DECREASED #/maxLength"]),
    (A, {"type": "string", "maxLength": 4}, ["MAX_LENGTH_ADDED #/maxLength"]),
    ({"type": "string", "pattern": "a"}, A, []),
    ({"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}, ["PATTERN_CHANGED #/pattern"]),
    (A, {"type": "string", "pattern": "b"}, ["PATTERN_ADDED #/pattern"]),
    ({"type": "number", "maximum": 10}, {"type": "number", "maximum": 11}, []),
    ({"type": "number", "maximum": 11}, {"type": "number", "maximum": 10}, ["MAXIMUM_DECREASED #/maximum"]),
    ({"type": "number", "exclusiveMaximum": 10}, {"type": "number", "maximum": 10}, []),
    ({"type": "number", "maximum": 10}, {"type": "number", "exclusiveMaximum": 10},
     ["EXCLUSIVE_MAXIMUM_ADDED #/exclusiveMaximum"]),
    ({"type": "number", "minimum": 1}, {"type": "number", "minimum": 2}, ["MINIMUM_INCREASED #/minimum"]),
    (B, {"type": "number", "exclusiveMinimum": 2}, ["EXCLUSIVE_MINIMUM_ADDED #/exclusiveMinimum"]),
    ({"type": "number", "exclusiveMinimum": 1}, {"type": "number", "exclusiveMinimum": 2},
     ["EXCLUSIVE_MINIMUM_INCREASED #/exclusiveMinimum"]),
    ({"type": "number", "multipleOf": 10}, {"type": "number", "multipleOf": 2}, []),
    ({"type": "number", "multipleOf": 2}, {"type": "number", "multipleOf": 10}, ["MULTIPLE_OF_EXPANDED #/multipleOf"]),
    ({"type": "number", "multipleOf": 2}, {"type": "number", "multipleOf": 3}, ["MULTIPLE_OF_CHANGED #/multipleOf"]),
    (B, {"type": "number", "multipleOf": 3}, ["MULTIPLE_OF_ADDED #/multipleOf"]),
    ({"type": "integer"}, {"type": "number", "multipleOf": 0.5}, []),
    ({"not": B}, {"not": {"type": "integer"}}, []),
    ({"not": {"type": "integer"}}, {"not": B}, ["NOT_TYPE_EXTENDED #/not"]),
    (A, {"not": B}, []),
    ({"enum": ["a", "b"]}, {"enum": ["b", "a", "c"]}, []),
    ({"enum": ["a", "b"]}, {"enum": ["a"]}, ["ENUM_ARRAY_NARROWED #/enum"]),
    ({"enum": ["a", "b"]}, {"enum": ["a", "c"]}, ["ENUM_ARRAY_CHANGED #/enum"]),
    ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a"]}, ["ENUM_ARRAY_NARROWED #/enum"]),
    ({"type": "string", "enum": ["a", 1]}, {"enum": ["a"]}, []),
    ({"enum": [1, True]}, {"enum": [1.0, True]}, []),
    ({"enum": [1]}, {"enum": [True]}, ["ENUM_ARRAY_CHANGED #/enum"]),
    (A, {"type": "string", "enum": ["a"]}, ["TYPE_CHANGED #/"]),
    ({"enum": ["a", "bb"]}, {"type": "string", "maxLength": 2}, []),
    ({"type": "boolean"}, {"enum": [True, False]}, []),
    ({"const": 1}, {"const": 1}, []),
    ({"const": 1}, {"const": 2}, ["ENUM_ARRAY_CHANGED #/const"]),
    ({"const": 1}, {"enum": [1, 2]}, []),
    # objects
    (of({"a": A}), of({"a": A}, "a"), ["REQUIRED_ATTRIBUTE_ADDED #/required/a"]),
    (of({"a": A}), of({"a": {"type": "string", "default": ""}}, "a"), []),
    (of({"a": A}, "a"), of({"a": A}), []),
    (of({"a": A}), of({"a": A}, "b"), ["REQUIRED_ATTRIBUTE_ADDED #/required/b"]),
    (of({"a": A}), of({"a": B}), ["TYPE_CHANGED #/properties/a"]),
    (of({"a": A}), of({"a": A, "b": B}), ["PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b"]),
    (of({"a": A}), of({"a": A, "b": B}, "b"), ["PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL #/properties/b"]),
    (of({"a": A}), of({"a": A, "b": {}}), []),
    (of({"a": A}), of({"a": A, "b": True}), []),
    (of({"a": A, "b": B}), of({"a": A}), []),
    (of({"a": A}, additionalProperties=False), of({"a": A, "b": B}, additionalProperties=False), []),
    (of({"a": A}, additionalProperties=False), of({"a": A, "b": B}, "b", additionalProperties=False),
     ["REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL #/properties/b"]),
    (of({"a": A}, additionalProperties=False),
     of({"a": A, "b": {"type": "number", "default": 1}}, "b", additionalProperties=False), []),
    (of({"a": A, "b": B}, additionalProperties=False), of({"a": A}, additionalProperties=False),
     ["PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL #/properties/b"]),
    (of({"a": A, "b": False}, additionalProperties=False), of({"a": A}, additionalProperties=False), []),
    (of({"a": A}, additionalProperties=A), of({"a": A, "b": A}, additionalProperties=A), []),
    (of({"a": A}, additionalProperties=A), of({"a": A, "b": B}, additionalProperties=A),
     ["TYPE_CHANGED #/properties/b", "PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b"]),
    (of({"a": A, "b": B}, additionalProperties=False), of({"a": A}, additionalProperties=A),
     ["TYPE_CHANGED #/properties/b", "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/properties/b"]),
    (of({"a": A, "b": A}, additionalProperties=False), of({"a": A}, additionalProperties=A), []),
    (of({"I_1": {"type": "integer"}}, additionalProperties=False),
     of({}, additionalProperties=False, patternProperties={"^S_": A, "^I_": B}), []),
    (of({}, additionalProperties=False, patternProperties={"^I_": {"type": "integer"}}),
     of({"I_1": B}, additionalProperties=False, patternProperties={"^I_": {"type": "integer"}}), []),
    (OPEN, CLOSED, ["ADDITIONAL_PROPERTIES_REMOVED #/additionalProperties"]),
    (CLOSED, OPEN, []),
    (OPEN, of({}, additionalProperties=A), ["ADDITIONAL_PROPERTIES_NARROWED #/additionalProperties"]),
    (of({}, additionalProperties=A), of({}, additionalProperties=B), ["TYPE_CHANGED #/additionalProperties"]),
    (OPEN, of({}, patternProperties={"^x": A}), ["ADDITIONAL_PROPERTIES_NARROWED #/patternProperties/^x"]),
    (OPEN, of({}, propertyNames={"maxLength": 3}), ["SCHEMA_ADDED #/propertyNames"]),
    (OPEN, of({}, propertyNames={"type": "string"}), []),
    (OPEN, of({}, maxProperties=1), ["MAX_PROPERTIES_ADDED #/maxProperties"]),
    (of({}, minProperties=1), of({}, minProperties=2), ["MIN_PROPERTIES_INCREASED #/minProperties"]),
    (of({}, dependencies={"a": ["b"]}), of({}, dependencies={"c": ["b"]}), ["DEPENDENCY_ARRAY_ADDED #/dependencies/c"]),
    (of({}, dependencies={"a": ["b"]}), of({}, dependencies={"a": ["b", "c"]}),
     ["DEPENDENCY_ARRAY_EXTENDED #/dependencies/a"]),
    (of({}, dependencies={"a": ["b"]}), of({}, dependencies={"a": ["c"]}),
     ["DEPENDENCY_ARRAY_CHANGED #/dependencies/a"]),
    (of({}, "b"), of({}, "b", dependencies={"a": ["b"]}), []),
    (OPEN, of({}, dependencies={"a": {"maxProperties": 2}}), ["DEPENDENCY_SCHEMA_ADDED #/dependencies/a"]),
    # arrays
    ({"type": "array"}, {"type": "array", "items": A}, ["SCHEMA_ADDED #/items"]),
    ({"type": "array", "items": A}, {"type": "array"}, []),
    ({"type": "array", "items": A}, {"type": "array", "items": B}, ["TYPE_CHANGED #/items"]),
    ({"type": "array", "items": [A, B]}, {"type": "array"}, []),
    ({"type": "array", "items": [A]}, {"type": "array", "items": [B]}, ["TYPE_CHANGED #/items/0"]),
    ({"type": "array", "items": [A]}, {"type": "array", "items": [A, B]},
     ["ITEM_ADDED_TO_OPEN_CONTENT_MODEL #/items/1"]),
    ({"type": "array", "items": [A], "additionalItems": False}, {"type": "array", "items": [A, B]}, []),
    ({"type": "array", "items": [A], "additionalItems": A}, {"type": "array", "items": [A, B], "additionalItems": A},
     ["TYPE_CHANGED #/items/1", "ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1"]),
    ({"type": "array", "items": [A, B], "additionalItems": False},
     {"type": "array", "items": [A], "additionalItems": False}, ["ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL #/items/1"]),
    ({"type": "array", "items": [A, B], "additionalItems": A}, {"type": "array", "items": [A], "additionalItems": A},
     ["TYPE_CHANGED #/items/1", "ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL #/items/1"]),
    ({"type": "array", "items": [A]}, {"type": "array", "items": [A], "additionalItems": False},
     ["ADDITIONAL_ITEMS_REMOVED #/additionalItems"]),
    ({"type": "array", "items": [A]}, {"type": "array", "items": [A], "additionalItems": A},
     ["ADDITIONAL_ITEMS_NARROWED #/additionalItems"]),
    ({"type": "array", "maxItems": 2}, {"type": "array", "maxItems": 1}, ["MAX_ITEMS_DECREASED #/maxItems"]),
    ({"type": "array"}, {"type": "array", "minItems": 1}, ["MIN_ITEMS_ADDED #/minItems"]),
    ({"type": "array"}, {"type": "array", "uniqueItems": True}, ["UNIQUE_ITEMS_ADDED #/uniqueItems"]),
    ({"type": "array"}, {"type": "array", "contains": A}, ["SCHEMA_ADDED #/contains"]),
    ({"type": "array", "contains": {"type": "integer"}}, {"type": "array", "contains": B}, []),
    # combined
    ({"oneOf": [A]}, {"oneOf": [B]}, ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"]),
    ({"oneOf": [A]}, {"oneOf": [B, A]}, []),
    ({"oneOf": [A, B]}, {"oneOf": [A]}, ["SUM_TYPE_NARROWED #/"]),
    ({"oneOf": [A]}, {"anyOf": [A]}, []),
    ({"anyOf": [A, B]}, {"oneOf": [A, B]}, ["COMBINED_TYPE_CHANGED #/"]),
    (A, {"anyOf": [B, A]}, []),
    (A, {"oneOf": [{"type": "null"}, A]}, []),
    (A, {"oneOf": [{"type": "null"}, B]}, ["TYPE_CHANGED #/"]),
    ({"anyOf": [A]}, A, []),
    ({"oneOf": [A, B]}, A, ["TYPE_CHANGED #/"]),
    ({"allOf": [A, {"maxLength": 5}]}, {"allOf": [{"maxLength": 5}, A]}, []),
    ({"allOf": [A, {"maxLength": 5}]}, {"allOf": [A, {"maxLength": 4}]}, ["COMBINED_TYPE_SUBSCHEMAS_CHANGED #/"]),
    ({"allOf": [A]}, {"allOf": [A, {"maxLength": 4}]}, ["PRODUCT_TYPE_EXTENDED #/"]),
    ({"allOf": [A, {"enum": ["a"]}]}, {"allOf": [{"enum": ["a", "b"]}, A]}, []),
    ({"allOf": [of({"a": A}), {"required": ["a"]}]}, of({"a": A}, "a"), []),
    (A, {"allOf": [A]}, []),
    # conditions
    ({"if": A, "then": {"maxLength": 3}}, {"if": A, "then": {"maxLength": 4}}, []),
    ({"if": A, "then": {"maxLength": 3}}, {"if": A, "then": {"maxLength": 2}}, ["TYPE_CHANGED #/if"]),
    (A, {"if": {"minLength": 3}, "then": {"maxLength": 4}}, ["TYPE_CHANGED #/if"]),
    # references
    ({"type": "array", "items": {"$ref": "#/definitions/x"}, "definitions": {"x": A}},
     {"type": "array", "items": {"$ref": "#/definitions/x"}, "definitions": {"x": B}}, ["TYPE_CHANGED #/items"]),
    (A, {"$ref": "#/definitions/x", "definitions": {"x": A}}, []),
    ({"$ref": "#/definitions/x", "definitions": {"x": A}}, A, []),
    ({"$ref": "#/definitions/x", "definitions": {"x": A}, "maxLength": 5}, {"type": "string", "maxLength": 5},
     ["MAX_LENGTH_ADDED #/maxLength"]),  # what stands beside a $ref did not count before 2019-09
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), CASES, ids=range(len(CASES)))
def test_changes(old: Any, new: Any, expected: list[str]) -> None:
    found = parse(json.dumps(new)).unreadable(parse(json.dumps(old)))
    assert [f"{each.kind} {each.path}" for each in found] == expected
    assert all(each.message and "\n" not in each.message for each in found)


def tree(leaf: Any, draft: str = "http://json-schema.org/draft-07/schema#") -> str:
    left = {"$ref": "#"}
    return json.dumps({"$schema": draft, **of({"left": left, "right": left, "leaf": leaf}, additionalProperties=False)})


def test_recursive_schemas() -> None:
    assert not parse(tree(A)).unreadable(parse(tree(A)))
    found = parse(tree({"type": "integer"})).unreadable(parse(tree(B)))
    assert [f"{each.kind} {each.path}" for each in found] == ["TYPE_NARROWED #/properties/leaf"]


@pytest.mark.parametrize(
    "new", ["draft-04/schema#", "draft-06/schema#", "draft/2019-09/schema", "draft/2020-12/schema"]
)
def test_a_schema_may_move_to_another_draft(new: str) -> None:
    assert not parse(tree(A, f"http://json-schema.org/{new}")).unreadable(parse(tree(A)))
    assert parse(tree(B, f"http://json-schema.org/{new}")).unreadable(parse(tree(A)))


def test_keywords_of_each_draft() -> None:
    schema = "http://json-schema.org/"
    four = {"$schema": f"{schema}draft-04/schema#", "type": "number", "maximum": 5, "exclusiveMaximum": True}
    six = {"$schema": f"{schema}draft-06/schema#", "type": "number", "exclusiveMaximum": 5}
    assert not parse(json.dumps(six)).unreadable(parse(json.dumps(four)))
    assert not parse(json.dumps(four)).unreadable(parse(json.dumps(six)))
    listed = {"$schema": f"{schema}draft/2019-09/schema", "type": "array", "items": [A], "additionalItems": B}
    prefix = {"$schema": f"{schema}draft/2020-12/schema", "type": "array", "prefixItems": [A], "items": B}
    assert not parse(json.dumps(prefix)).unreadable(parse(json.dumps(listed)))
    assert not parse(json.dumps(listed)).unreadable(parse(json.dumps(prefix)))
    closed = {"$schema": f"{schema}draft/2020-12/schema", **of({"a": A}, unevaluatedProperties=False)}
    assert not parse(json.dumps(closed)).unreadable(parse(json.dumps(closed)))
    found = parse(json.dumps(closed)).unreadable(parse(json.dumps(of({"a": A}))))
    assert [each.kind for each in found] == ["UNEVALUATED_PROPERTIES_REMOVED"]
