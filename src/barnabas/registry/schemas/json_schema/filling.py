"""Fills a node with the keywords of its schema, whatever the draft calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.model import limits
from barnabas.model.json_values import Json, JsonObject
from barnabas.registry.schemas.json_schema import keywords
from barnabas.registry.schemas.json_schema.node import Condition, Node, value_key
from barnabas.registry.schemas.parsed import InvalidSchema

if TYPE_CHECKING:
    from barnabas.registry.schemas.json_schema.loader import Place

_NodeOf = Callable[[Json, "Place"], Node]


def fill(node: Node, schema: JsonObject, place: Place, node_of: _NodeOf) -> None:
    filling = _Filling(schema, place, node_of)
    node.has_default = "default" in schema
    for known, method in _FAMILIES:
        if not known.isdisjoint(schema):
            method(filling, node)


class _Filling:
    def __init__(self, schema: JsonObject, place: Place, node_of: _NodeOf) -> None:
        self._schema = schema
        self._place = place
        self._draft = place.draft
        self._node_of = node_of

    def values(self, node: Node) -> None:
        schema = self._schema
        stated = schema.get("type")
        if stated is not None:
            node.types = frozenset(stated) if isinstance(stated, list) else frozenset((stated,))
            node.types_listed = isinstance(stated, list)
        if "enum" in schema:
            node.values = {value_key(each): each for each in schema["enum"]}
        if "const" in schema and self._draft >= 6:
            const = {value_key(schema["const"]): schema["const"]}
            node.values_keyword = "const" if node.values is None else "enum"
            node.values = const if node.values is None or const.keys() <= node.values.keys() else {}

    def bounds(self, node: Node) -> None:
        get = self._schema.get
        node.max_length, node.min_length, node.pattern = get("maxLength"), get("minLength"), get("pattern")
        node.maximum, node.minimum, node.multiple_of = get("maximum"), get("minimum"), get("multipleOf")
        if self._draft == 4:
            if get("exclusiveMaximum"):
                node.maximum, node.exclusive_maximum = None, node.maximum
            if get("exclusiveMinimum"):
                node.minimum, node.exclusive_minimum = None, node.minimum
        else:
            node.exclusive_maximum, node.exclusive_minimum = get("exclusiveMaximum"), get("exclusiveMinimum")

    def members(self, node: Node) -> None:
        get = self._schema.get
        node.required = frozenset(get("required", ()))
        node.max_properties, node.min_properties = get("maxProperties"), get("minProperties")
        node.properties, node.pattern_properties = self._by_name("properties"), self._by_name("patternProperties")
        node.additional, node.property_names = self._one("additionalProperties"), self._one("propertyNames")
        node.unevaluated_properties = self._one("unevaluatedProperties")
        if self._draft >= 2019:
            node.dependent_required = {key: frozenset(each) for key, each in get("dependentRequired", {}).items()}
        node.dependent_schemas = self._by_name("dependentSchemas")
        if "dependencies" in self._schema:
            self._dependencies(node, self._schema["dependencies"])

    def _dependencies(self, node: Node, dependencies: Json) -> None:
        """What 2019-09 made two keywords of."""
        if not isinstance(dependencies, dict):
            raise InvalidSchema(f"{self._place.path}/dependencies is no object")
        names, schemas = dict(node.dependent_required), dict(node.dependent_schemas)
        for name, each in dependencies.items():
            if not isinstance(each, list):
                schemas[name] = self._node_of(each, self._place.below("dependencies", name))
            elif all(isinstance(other, str) for other in each):
                names[name] = frozenset(each)
            else:
                raise InvalidSchema(f"{self._place.path}/dependencies/{name} is neither a schema nor a list of names")
        node.dependent_required, node.dependent_schemas = names, schemas

    def items(self, node: Node) -> None:
        get = self._schema.get
        node.max_items, node.min_items, node.unique = get("maxItems"), get("minItems"), get("uniqueItems", False)
        node.contains, node.unevaluated_items = self._one("contains"), self._one("unevaluatedItems")
        if self._draft >= 2019:
            node.max_contains, node.min_contains = get("maxContains"), get("minContains")
        items = get("items")
        if self._draft >= 2020:
            node.prefix = self._several("prefixItems")
            rest, keyword = items, "items"
        elif isinstance(items, list):
            node.prefix = [self._node_of(each, self._place.below("items", i)) for i, each in enumerate(items)]
            rest, keyword = get("additionalItems"), "additionalItems"
        else:
            rest, keyword = items, "items"
        if keyword in self._schema and rest is not True:
            node.rest = self._node_of(rest, self._place.below(keyword))

    def combined(self, node: Node) -> None:
        node.all_of, node.any_of, node.one_of = (self._several(each) for each in ("allOf", "anyOf", "oneOf"))
        node.negated = self._one("not")
        test = self._one("if")
        then, otherwise = self._one("then"), self._one("else")
        if test is not None and (then is not None or otherwise is not None):
            node.condition = Condition(test, then, otherwise)

    def _one(self, keyword: str) -> Node | None:
        """True is the same as no such keyword."""
        if keyword not in self._schema or self._draft < keywords.ONE[keyword]:
            return None
        value = self._schema[keyword]
        if value is True and keyword not in ("not", "if", "contains"):
            return None
        return self._node_of(value, self._place.below(keyword))

    def _several(self, keyword: str) -> list[Node]:
        if keyword not in self._schema or self._draft < keywords.SEVERAL[keyword]:
            return []
        value = self._schema[keyword]
        if not isinstance(value, list) or not value:
            raise InvalidSchema(f"{self._place.path}/{keyword} is no list of schemas")
        if len(value) > limits.SCHEMA_SUBSCHEMAS_MAX:  # before they are made
            raise InvalidSchema(f"{self._place.path}/{keyword} has more than {limits.SCHEMA_SUBSCHEMAS_MAX:,} schemas")
        return [self._node_of(each, self._place.below(keyword, index)) for index, each in enumerate(value)]

    def _by_name(self, keyword: str) -> dict[str, Node]:
        if keyword not in self._schema or self._draft < keywords.BY_NAME[keyword]:
            return {}
        value = self._schema[keyword]
        if not isinstance(value, dict):
            raise InvalidSchema(f"{self._place.path}/{keyword} is no object of schemas")
        return {name: self._node_of(each, self._place.below(keyword, name)) for name, each in value.items()}


# Which keywords a family has: most schemas have few of them.
_FAMILIES: tuple[tuple[frozenset[str], Callable[[_Filling, Node], None]], ...] = (
    (frozenset(("type", "enum", "const")), _Filling.values),
    (
        frozenset(("maxLength", "minLength", "pattern", "maximum", "minimum", "multipleOf"))
        | {"exclusiveMaximum", "exclusiveMinimum"},
        _Filling.bounds,
    ),
    (
        frozenset(("required", "maxProperties", "minProperties", "properties", "patternProperties"))
        | {"additionalProperties", "propertyNames", "unevaluatedProperties", "dependentRequired"}
        | {"dependentSchemas", "dependencies"},
        _Filling.members,
    ),
    (
        frozenset(("maxItems", "minItems", "uniqueItems", "contains", "unevaluatedItems", "maxContains"))
        | {"minContains", "items", "prefixItems", "additionalItems"},
        _Filling.items,
    ),
    (frozenset(("allOf", "anyOf", "oneOf", "not", "if", "then", "else")), _Filling.combined),
)
