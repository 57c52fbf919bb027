"""JSON Schemas, changes of them, and data that is near to what they take, by chance."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

NAMES = ("a", "b", "c", "x1")
STRINGS = ("", "a", "ab", "abc", "abcdef", "x1", "b1")
NUMBERS = (-2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 1.5, 2.5, 7.5)
PLAIN: tuple[Any, ...] = (None, True, False, *STRINGS, *NUMBERS)
TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")
DRAFTS = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
# those whose value is a schema, a list or an object of schemas
ONE = ("additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "items")
SEVERAL, BY_NAME = ("allOf", "anyOf", "oneOf", "prefixItems"), ("properties", "patternProperties", "$defs")


class Generator:
    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._draft = rng.choice(DRAFTS)

    def schema(self) -> dict[str, Any]:
        found = self._schema(3)
        made = found if isinstance(found, dict) else {"type": "object"}
        return {"$schema": self._draft, **made, "$defs": {"d": self._schema(1)}}

    def _schema(self, depth: int) -> Any:
        chance = self._rng.random()
        if chance < 0.04:
            return self._rng.random() < 0.6
        if chance < 0.1 and depth < 3:
            return {"$ref": self._rng.choice(("#/$defs/d", "#/$defs/d", "#"))}
        if chance < 0.3 and depth:
            return self._combined(depth)
        if chance < 0.4:
            return {"enum": self._rng.sample(PLAIN, self._rng.randint(1, 4))}
        if chance < 0.45:
            return {"type": self._rng.sample(TYPES, 2)}
        return self._typed(self._rng.choice(TYPES if depth else TYPES[:5]), depth)

    def _combined(self, depth: int) -> dict[str, Any]:
        keyword = self._rng.choice(("anyOf", "anyOf", "oneOf", "allOf", "not", "if"))
        if keyword == "not":
            return {"not": self._schema(0)}
        if keyword == "if":
            return {"if": self._schema(0), "then": self._schema(depth - 1), "else": self._schema(depth - 1)}
        if keyword == "oneOf":
            types = self._rng.sample(("string", "number", "null", "object", "array"), self._rng.randint(1, 3))
            return {"oneOf": [self._typed(each, depth - 1) for each in types]}
        return {keyword: [self._schema(depth - 1) for _ in range(self._rng.randint(1, 3))]}

    def _typed(self, type_: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {"type": type_} if self._rng.random() < 0.9 else {}
        for keyword, value in self._keywords(type_, depth):
            if self._rng.random() < 0.35:
                found[keyword] = value
        return found

    def _keywords(self, type_: str, depth: int) -> Iterator[tuple[str, Any]]:
        rng = self._rng
        below = max(depth - 1, 0)
        if type_ == "string":
            yield from (("minLength", rng.randint(0, 3)), ("maxLength", rng.randint(2, 5)), ("pattern", "^[ax]"))
        elif type_ in ("number", "integer"):
            yield from (("minimum", rng.randint(-2, 3)), ("maximum", rng.randint(3, 9)))
            yield from (("exclusiveMinimum", rng.randint(-2, 3)), ("exclusiveMaximum", rng.randint(3, 9)))
            yield "multipleOf", rng.randint(1, 3)
        elif type_ == "object":
            yield "properties", {name: self._schema(below) for name in rng.sample(NAMES, rng.randint(1, 3))}
            yield "required", rng.sample(NAMES, rng.randint(0, 2))
            yield "additionalProperties", rng.choice((False, True, False, self._schema(0)))
            yield from (("minProperties", rng.randint(0, 2)), ("maxProperties", rng.randint(2, 4)))
            yield from (
                ("propertyNames", {"maxLength": rng.randint(1, 2)}),
                ("patternProperties", {"^x": self._schema(0)}),
            )
            yield "dependencies" if self._draft == DRAFTS[0] else "dependentRequired", {"a": ["b"]}
        elif type_ == "array":
            prefix = [self._schema(0) for _ in range(rng.randint(1, 2))]
            if self._draft == DRAFTS[0]:
                yield from (("items", rng.choice((self._schema(below), prefix))), ("additionalItems", self._schema(0)))
            else:
                yield from (("items", self._schema(below)), ("prefixItems", prefix))
            yield from (("minItems", rng.randint(0, 2)), ("maxItems", rng.randint(1, 3)), ("uniqueItems", True))
            yield "contains", self._schema(0)

    def changed(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with a few changes, as the next version has."""
        made = copy.deepcopy(schema)
        found = list(subschemas(made))
        for _ in range(self._rng.choice((1, 1, 2, 4))):
            self._change(self._rng.choice(found))
        return made

    def _change(self, schema: dict[str, Any]) -> None:
        rng = self._rng
        keywords = [key for key in schema if key not in ("$schema", "$defs", "$ref", "if", "then", "else")]
        keyword = rng.choice(keywords) if keywords else ""
        value = schema.get(keyword)
        match rng.randrange(4):
            case 0 if keyword:
                del schema[keyword]
            case 1 if type(value) is int:
                schema[keyword] = max(value + rng.choice((-1, 1)), 0 if keyword[-1] in "hs" else 1)
            case 1 | 2 if isinstance(value, list) and len(value) > 1 and keyword != "type":
                value.pop()
            case 2 if isinstance(value, dict) and keyword == "properties":
                value[rng.choice(NAMES)] = self._schema(0)
            case _ if "$ref" not in schema:
                type_ = schema.get("type")
                added = self._typed(type_ if isinstance(type_, str) else rng.choice(TYPES), 0)
                schema.update({key: each for key, each in added.items() if key != "type"})


def subschemas(schema: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    yield schema
    for key, value in schema.items():
        if key in ONE and not isinstance(value, list):
            yield from subschemas(value)
        elif key in SEVERAL or (key == "items" and isinstance(value, list)):
            for each in value:
                yield from subschemas(each)
        elif key in BY_NAME:
            for each in value.values():
                yield from subschemas(each)


class Data:
    """Values that a schema may take, made along its keywords; whether it takes them a validator says."""

    def __init__(self, schema: dict[str, Any], rng: random.Random) -> None:
        self._root = schema
        self._rng = rng

    def values(self, count: int) -> Iterator[Any]:
        yield from PLAIN
        yield from ([], {}, [1], ["a"], {"a": 1}, {"b": "a"}, {"x1": None}, {"a": "a", "b": 1}, [1, 1])
        for _ in range(count):
            yield self._value(self._root, 4)

    def _value(self, schema: Any, depth: int) -> Any:
        rng = self._rng
        if depth <= 0 or not isinstance(schema, dict) or rng.random() < 0.1:
            return rng.choice(PLAIN)
        if "$ref" in schema:
            return self._value(self._root if schema["$ref"] == "#" else self._root["$defs"]["d"], depth - 1)
        if "enum" in schema:
            return rng.choice(schema["enum"])
        inner = [each for key in ("allOf", "anyOf", "oneOf") for each in schema.get(key, ())]
        inner += [schema[key] for key in ("then", "else", "not", "if") if key in schema]
        if inner and rng.random() < 0.8:
            return self._value(rng.choice(inner), depth - 1)
        stated = schema.get("type", rng.choice(("object", "array", "string", "number")))
        type_ = rng.choice(stated) if isinstance(stated, list) else stated
        if type_ == "object":
            return self._object(schema, depth)
        if type_ == "array":
            items = schema.get("items")
            prefix = schema.get("prefixItems", items if isinstance(items, list) else [])
            rest = schema.get("additionalItems") if isinstance(items, list) else items
            return [self._value(each, depth - 1) for each in [*prefix, *[rest] * 3][: rng.randint(0, 4)]]
        pools: dict[str, tuple[Any, ...]] = {"string": STRINGS, "boolean": (True, False), "null": (None,)}
        return rng.choice(pools.get(type_, NUMBERS))

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties", {})
        names = set(schema.get("required", ())) | {each for each in (*NAMES, "z") if self._rng.random() < 0.5}
        other = schema.get("additionalProperties", True)
        return {name: self._value(properties.get(name, other), depth - 1) for name in sorted(names)}
