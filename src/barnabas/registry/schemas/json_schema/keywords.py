"""What each keyword has to be, by draft: what the meta-schemas say, without the rules that only make a schema useless
(an empty `enum`). A keyword that a draft does not have is passed over in it, as any unknown one."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from barnabas.model.json_values import Json, JsonObject
from barnabas.registry.schemas.json_schema.node import TYPES

DRAFTS = {
    "json-schema.org/draft-04/schema": 4,
    "json-schema.org/draft-06/schema": 6,
    "json-schema.org/draft-07/schema": 7,
    "json-schema.org/draft/2019-09/schema": 2019,
    "json-schema.org/draft/2020-12/schema": 2020,
}
DRAFT_UNSTATED = 7  # as Confluent's


def draft_of(document: Json) -> int:
    stated = document.get("$schema") if isinstance(document, dict) else None
    if not isinstance(stated, str):
        return DRAFT_UNSTATED
    return DRAFTS.get(stated.rstrip("#").removeprefix("https://").removeprefix("http://"), DRAFT_UNSTATED)


def is_meta_schema(address: str) -> bool:
    return address.rstrip("#").removeprefix("https://").removeprefix("http://") in DRAFTS


def _number(value: Json) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _positive(value: Json) -> bool:
    return _number(value) and value > 0


def _natural(value: Json) -> bool:
    return _number(value) and value >= 0 and value == int(value)


def _text(value: Json) -> bool:
    return isinstance(value, str)


def _boolean(value: Json) -> bool:
    return isinstance(value, bool)


def _list(value: Json) -> bool:
    return isinstance(value, list)


def _texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value) and len(set(value)) == len(value)


def _type(value: Json) -> bool:
    return value in TYPES if isinstance(value, str) else _texts(value) and all(each in TYPES for each in value)


def _texts_by_name(value: Json) -> bool:
    return isinstance(value, dict) and all(_texts(each) for each in value.values())


def _anything(value: Json) -> bool:
    return True


# keyword: from which draft on, what it has to be, in words
_Rule = tuple[int, Callable[[Json], bool], str]
PLAIN: dict[str, _Rule] = {
    "$ref": (4, _text, "a text"),
    "$schema": (4, _text, "a text"),
    "title": (4, _text, "a text"),
    "description": (4, _text, "a text"),
    "format": (4, _text, "a text"),
    "type": (4, _type, "the name of a type, or a list of different ones"),
    "enum": (4, _list, "a list"),
    "const": (6, _anything, ""),
    "maxLength": (4, _natural, "a number of characters"),
    "minLength": (4, _natural, "a number of characters"),
    "pattern": (4, _text, "a regular expression"),
    "maximum": (4, _number, "a number"),
    "minimum": (4, _number, "a number"),
    "exclusiveMaximum": (6, _number, "a number"),
    "exclusiveMinimum": (6, _number, "a number"),
    "multipleOf": (4, _positive, "a number above 0"),
    "required": (4, _texts, "a list of different names"),
    "maxProperties": (4, _natural, "a number of properties"),
    "minProperties": (4, _natural, "a number of properties"),
    "dependentRequired": (2019, _texts_by_name, "an object of lists of different names"),
    "maxItems": (4, _natural, "a number of items"),
    "minItems": (4, _natural, "a number of items"),
    "uniqueItems": (4, _boolean, "true or false"),
    "maxContains": (2019, _natural, "a number of items"),
    "minContains": (2019, _natural, "a number of items"),
}
_EXCLUSIVE_4: _Rule = (4, _boolean, "true or false")
# keyword: from which draft on its value is a schema, a list or an object of schemas
ONE = {"additionalProperties": 4, "propertyNames": 6, "contains": 6, "not": 4, "if": 7, "then": 7, "else": 7} | {
    "unevaluatedProperties": 2019,
    "unevaluatedItems": 2019,
}
SEVERAL = {"allOf": 4, "anyOf": 4, "oneOf": 4, "prefixItems": 2020}
BY_NAME = {"properties": 4, "patternProperties": 4, "definitions": 4, "$defs": 4, "dependentSchemas": 2019}


def broken_rule(schema: JsonObject, draft: int) -> str:
    """What is wrong with the plain keywords of a schema; empty: nothing."""
    for keyword, value in schema.items():
        rule = PLAIN.get(keyword)
        if rule is not None:
            since, fits, words = _EXCLUSIVE_4 if draft == 4 and keyword.startswith("exclusive") else rule
            if draft >= since and not fits(value):
                return f"{keyword} is not {words}"
    return ""
