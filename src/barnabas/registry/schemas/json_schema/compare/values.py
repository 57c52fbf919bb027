"""Types, enums, strings and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from barnabas.model.json_values import Json
from barnabas.registry.schemas.json_schema.compare.found import NOTHING, Facts, Found, Path
from barnabas.registry.schemas.json_schema.node import TYPES, Node, Number, type_of, value_key
from barnabas.registry.schemas.json_text import written

_ALL = frozenset(TYPES)
_SHOWN_MAX = 10


def types_of(facts: Facts) -> frozenset[str]:
    """Which types data can have. Integers are numbers; a number may be an integer."""
    result = _ALL
    for each in facts:
        if each.types is not None:
            result = _both(result, each.types)
        if each.values is not None:
            result = _both(result, frozenset(type_of(value) for value in each.values.values()))
    return result


def _both(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    result = one & other
    if ("integer" in one and "number" in other) or ("integer" in other and "number" in one):
        result |= {"integer"}
    return result


def values_of(facts: Facts, types: frozenset[str]) -> dict[str, Json] | None:
    """The values that data can have, if they are few enough to be named."""
    result: dict[str, Json] | None = None
    for each in facts:
        if each.values is not None:
            kept = {key: value for key, value in each.values.items() if _is(type_of(value), types)}
            result = kept if result is None else {key: value for key, value in result.items() if key in kept}
    if result is None and types <= {"boolean", "null"}:
        named = [True, False] * ("boolean" in types) + [None] * ("null" in types)
        result = {value_key(each): each for each in named}
    return result


def of_values(values: dict[str, Json]) -> Node:
    """What is true of all of the values: their bounds."""
    lengths = [len(each) for each in values.values() if isinstance(each, str)]
    numbers: list[Number] = [each for each in values.values() if type_of(each) in ("integer", "number")]
    node = Node()
    node.max_length, node.min_length = max(lengths, default=None), min(lengths, default=None)
    node.maximum, node.minimum = max(numbers, default=None), min(numbers, default=None)
    return node


def _is(type_: str, types: Iterable[str]) -> bool:
    return type_ in types or (type_ == "integer" and "number" in types)


def type_differences(facts: Facts, types: frozenset[str], reader: Node, path: Path) -> Found:
    if reader.nothing:
        return path.says("TYPE_CHANGED", "the schema accepts nothing")
    if reader.types is None:
        return NOTHING
    lost = [each for each in sorted(types) if not _is(each, reader.types)]
    if "integer" in reader.types and lost == ["number"]:
        return path.says("TYPE_NARROWED", "data may be a number with a fraction, the schema takes integers only")
    if not lost:
        return NOTHING
    stated = next((each.types for each in facts if each.types is not None), None)
    listed = any(each.types_listed for each in facts)
    kind = "TYPE_CHANGED"
    if listed and reader.types_listed and stated is not None:
        kind = "SUM_TYPE_NARROWED" if len(stated) > len(reader.types) else "COMBINED_TYPE_SUBSCHEMAS_CHANGED"
    elif stated is None and any(_has_keywords(each) for each in facts):
        kind = "TYPE_NARROWED"
    wanted = " or ".join(sorted(reader.types)) or "no type"
    return path.says(kind, f"data may be of type {_some(lost)}, the schema takes {wanted}")


def _has_keywords(fact: Node) -> bool:
    return isinstance(fact.value, dict) and bool(fact.value) and not (fact.any_of or fact.one_of or fact.all_of)


def enum_differences(values: dict[str, Json] | None, reader: Node, path: Path) -> Found:
    if reader.values is None:
        return NOTHING
    if values is None:
        return path.says("TYPE_CHANGED", f"{reader.values_keyword} was added: data may have other values")
    lost = [key for key in values if key not in reader.values]
    if not lost:
        return NOTHING
    narrowed = reader.values_keyword == "enum" and reader.values.keys() <= values.keys()
    kind = "ENUM_ARRAY_NARROWED" if narrowed else "ENUM_ARRAY_CHANGED"
    message = f"data may have values that the schema lacks: {_some(lost)}"
    return (path / reader.values_keyword).says(kind, message)


def string_differences(facts: Facts, values: dict[str, Json] | None, reader: Node, path: Path) -> Found:
    found = upper(facts, reader, "max_length", "maxLength", path) + lower(
        facts, reader, "min_length", "minLength", path
    )
    if reader.pattern is None or any(each.pattern == reader.pattern for each in facts):
        return found
    if values is not None and not any(isinstance(each, str) for each in values.values()):
        return found
    changed = any(each.pattern is not None for each in facts)
    kind = "PATTERN_CHANGED" if changed else "PATTERN_ADDED"
    return found + (path / "pattern").says(kind, f"data need not match {reader.pattern[:200]!r}")


def number_differences(facts: Facts, types: frozenset[str], reader: Node, path: Path) -> Found:
    found = NOTHING
    highest = min((each.maximum for each in facts if each.maximum is not None), default=None)
    below = min((each.exclusive_maximum for each in facts if each.exclusive_maximum is not None), default=None)
    lowest = max((each.minimum for each in facts if each.minimum is not None), default=None)
    above = max((each.exclusive_minimum for each in facts if each.exclusive_minimum is not None), default=None)
    if reader.maximum is not None and not _at_most(highest, below, reader.maximum):
        found += _bound(path, "maximum", highest, reader.maximum)
    if reader.exclusive_maximum is not None:
        limit = reader.exclusive_maximum
        if not ((highest is not None and highest < limit) or (below is not None and below <= limit)):
            found += _bound(path, "exclusiveMaximum", below, limit)
    if reader.minimum is not None and not _at_least(lowest, above, reader.minimum):
        found += _bound(path, "minimum", lowest, reader.minimum)
    if reader.exclusive_minimum is not None:
        limit = reader.exclusive_minimum
        if not ((lowest is not None and lowest > limit) or (above is not None and above >= limit)):
            found += _bound(path, "exclusiveMinimum", above, limit)
    return found + _multiple_of(facts, types, reader, path)


def _at_most(highest: Number | None, below: Number | None, limit: Number) -> bool:
    return (highest is not None and highest <= limit) or (below is not None and below <= limit)


def _at_least(lowest: Number | None, above: Number | None, limit: Number) -> bool:
    return (lowest is not None and lowest >= limit) or (above is not None and above >= limit)


def _bound(path: Path, keyword: str, before: Number | None, now: Number) -> Found:
    change = "ADDED" if before is None else "DECREASED" if "ax" in keyword else "INCREASED"
    had = "has no such bound" if before is None else f"has {written(before)}"
    return (path / keyword).says(f"{_capitals(keyword)}_{change}", f"{keyword} is {written(now)}, data {had}")


def _multiple_of(facts: Facts, types: frozenset[str], reader: Node, path: Path) -> Found:
    if reader.multiple_of is None:
        return NOTHING
    now = Fraction(reader.multiple_of)
    steps = [Fraction(each.multiple_of) for each in facts if each.multiple_of is not None]
    if "number" not in types:
        steps.append(Fraction(1))
    if any((step / now).denominator == 1 for step in steps):
        return NOTHING
    before = [each.multiple_of for each in facts if each.multiple_of is not None]
    kind = "MULTIPLE_OF_ADDED"
    if before:
        kind = "MULTIPLE_OF_EXPANDED" if (now / Fraction(before[0])).denominator == 1 else "MULTIPLE_OF_CHANGED"
    had = f"of {written(before[0])}" if before else "any number"
    message = f"the schema takes multiples of {written(reader.multiple_of)}, data is {had}"
    return (path / "multipleOf").says(kind, message)


def upper(facts: Facts, reader: Node, attribute: str, keyword: str, path: Path) -> Found:
    """A bound from above, such as maxLength."""
    limit: Number | None = getattr(reader, attribute)
    before: list[Number] = [found for each in facts if (found := getattr(each, attribute)) is not None]
    if limit is None or any(each <= limit for each in before):
        return NOTHING
    return _bound(path, keyword, min(before, default=None), limit)


def lower(facts: Facts, reader: Node, attribute: str, keyword: str, path: Path) -> Found:
    """A bound from below, such as minLength, which is 0 where nothing is said."""
    limit: Number | None = getattr(reader, attribute)
    before: list[Number] = [found for each in facts if (found := getattr(each, attribute)) is not None]
    if not limit or any(each >= limit for each in before):
        return NOTHING
    return _bound(path, keyword, max(before, default=None), limit)


def _capitals(keyword: str) -> str:
    return "".join(f"_{each}" if each.isupper() else each.upper() for each in keyword)


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(each[:100] for each in names[:_SHOWN_MAX])
    return shown + (f" and {len(names) - _SHOWN_MAX} more" if len(names) > _SHOWN_MAX else "")
