"""A JSON Schema with its keywords, in one shape for all drafts: a list in `items` and `prefixItems` are `prefix`, the
boolean `exclusiveMaximum` of draft-04 is a bound, `const` is an enum of one. Schemas that are referred to are the same
object, so recursive schemas are cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import TypeAlias

from barnabas.model.json_values import Json
from barnabas.registry.schemas.json_text import sorted_keys, written

TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
Number: TypeAlias = int | Decimal
_NONE: Mapping[str, Node] = MappingProxyType({})
_NO_NAMES: Mapping[str, frozenset[str]] = MappingProxyType({})


@dataclass(slots=True, eq=False)
class Condition:
    test: Node
    then: Node | None
    otherwise: Node | None


class Node:
    """What a schema does not say is the class's: most say little, and there may be thousands."""

    value: Json  # the schema as JSON
    nothing: bool = False  # accepts no value: false
    has_default: bool = False
    ref: Node | None = None
    only_ref: bool = False  # nothing but `ref` counts

    types: frozenset[str] | None = None  # None: any
    types_listed: bool = False  # `type` is a list
    values: dict[str, Json] | None = None  # of `enum` and `const`, by value_key
    values_keyword: str = "enum"

    max_length: Number | None = None
    min_length: Number | None = None
    pattern: str | None = None
    maximum: Number | None = None
    minimum: Number | None = None
    exclusive_maximum: Number | None = None
    exclusive_minimum: Number | None = None
    multiple_of: Number | None = None

    properties: Mapping[str, Node] = _NONE
    pattern_properties: Mapping[str, Node] = _NONE
    additional: Node | None = None  # additionalProperties; None: any
    property_names: Node | None = None
    required: frozenset[str] = frozenset()
    dependent_required: Mapping[str, frozenset[str]] = _NO_NAMES
    dependent_schemas: Mapping[str, Node] = _NONE
    max_properties: Number | None = None
    min_properties: Number | None = None
    unevaluated_properties: Node | None = None

    prefix: Sequence[Node] = ()
    rest: Node | None = None  # items behind the prefix; None: any
    contains: Node | None = None
    max_contains: Number | None = None
    min_contains: Number | None = None
    unique: bool = False
    max_items: Number | None = None
    min_items: Number | None = None
    unevaluated_items: Node | None = None

    all_of: Sequence[Node] = ()
    any_of: Sequence[Node] = ()
    one_of: Sequence[Node] = ()
    negated: Node | None = None
    condition: Condition | None = None
    by_type: Sequence[Node] | None = None  # a node each for the listed types: made when they are asked for

    def __init__(self, value: Json = True) -> None:
        self.value = value
        if value is False:
            self.nothing = True

    @classmethod
    def of_type(cls, type_: str) -> Node:
        node = cls({"type": type_})
        node.types = frozenset((type_,))
        return node

    def meant(self) -> Node:
        """This schema, or the one that it stands for."""
        node = self
        while node.only_ref and node.ref is not None:
            node = node.ref
        return node

    def one_type_each(self) -> Sequence[Node]:
        if self.by_type is None:
            self.by_type = [Node.of_type(each) for each in sorted(self.types or ())]
        return self.by_type


def value_key(value: Json) -> str:
    """The same for values that JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    return written(sorted_keys(_plain(value)))


def _plain(value: Json) -> Json:
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else _shortest(value)
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


def _shortest(value: Decimal) -> Decimal:
    """Without zeros at its end; Decimal.normalize would round."""
    sign, digits, exponent = value.as_tuple()
    kept = len("".join(map(str, digits)).rstrip("0"))
    return Decimal((sign, digits[:kept], int(exponent) + len(digits) - kept))


def type_of(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | Decimal):
        return "integer" if value == int(value) else "number"
    return "array" if isinstance(value, list) else "object"
