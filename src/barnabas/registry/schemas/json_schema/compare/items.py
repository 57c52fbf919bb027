"""Arrays: items by position, and all others."""

from __future__ import annotations

from barnabas.registry.schemas.json_schema.compare.found import (
    ENOUGH,
    NOTHING,
    Comparing,
    Facts,
    Found,
    Path,
    same_keywords,
)
from barnabas.registry.schemas.json_schema.compare.values import lower, upper
from barnabas.registry.schemas.json_schema.node import Node


def array_differences(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    found = (
        _by_position(facts, reader, path, comparing)
        + _others(facts, reader, path, comparing)
        + upper(facts, reader, "max_items", "maxItems", path)
        + lower(facts, reader, "min_items", "minItems", path)
        + _contains(facts, reader, path, comparing)
        + _unevaluated(facts, reader, path)
    )
    if reader.unique and not any(each.unique for each in facts):
        found += (path / "uniqueItems").says("UNIQUE_ITEMS_ADDED", "items of data may be equal")
    return found


def _at(facts: Facts, index: int) -> tuple[Node, ...] | None:
    """What data's item at a position keeps to; None: there is no such item."""
    result: list[Node] = []
    for fact in facts:
        own = fact.prefix[index] if index < len(fact.prefix) else fact.rest
        if (own is not None and own.nothing) or (fact.max_items is not None and fact.max_items <= index):
            return None
        if own is not None:
            result.append(own)
    return tuple(result)


def _by_position(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    found, longest = NOTHING, max((len(each.prefix) for each in facts), default=0)
    for index in range(max(longest, len(reader.prefix))):
        comparing.step(len(facts))
        data, here = _at(facts, index), path / "items" / index
        if data is None or len(found) >= ENOUGH:
            break  # nor are there any behind it
        if index < len(reader.prefix):
            inner = comparing.compare(data, reader.prefix[index], here)
            if inner and index >= longest:
                inner = _added(data, inner, here)
            found += inner
        elif reader.rest is not None:
            found += _removed(data, reader.rest, here, comparing)
    return found


def _added(data: tuple[Node, ...], inner: Found, here: Path) -> Found:
    if not data:
        message = "the item is new, and data may have any value there: the old content model is open"
        return here.says("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", message)
    message = "the item is new and takes less than the old content model did"
    return inner + here.says("ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", message)


def _removed(data: tuple[Node, ...], rest: Node, here: Path, comparing: Comparing) -> Found:
    if rest.nothing:
        message = "the item is gone, and the content model is closed: data may have it"
        return here.says("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", message)
    inner = comparing.compare(data, rest, here)
    if not inner:
        return NOTHING
    message = "the item is gone, and the content model does not take what data may have there"
    return inner + here.says("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", message)


def _others(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    if reader.rest is None:
        return NOTHING
    longest = max([len(reader.prefix), *(len(each.prefix) for each in facts)])
    data = _at(facts, longest)
    if data is None:
        return NOTHING
    here = path / ("additionalItems" if reader.prefix else "items")
    inner = comparing.compare(data, reader.rest, here)
    if not inner:
        return NOTHING
    if reader.prefix and reader.rest.nothing:
        return here.says("ADDITIONAL_ITEMS_REMOVED", "the content model is closed now, and data may have further items")
    if not data:
        kind = "ADDITIONAL_ITEMS_NARROWED" if reader.prefix else "SCHEMA_ADDED"
        return here.says(kind, "items may have any value in data, and the schema does not take any")
    return inner


def _contains(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    if reader.contains is None:
        return NOTHING
    found, same = NOTHING, [each for each in facts if each.contains is not None]
    wanted = 1 if reader.min_contains is None else reader.min_contains
    if wanted > 0:
        have = max((1 if each.min_contains is None else each.min_contains for each in same), default=None)
        if have is None or have < wanted:
            kind = "SCHEMA_ADDED" if have is None else "MIN_CONTAINS_INCREASED"
            keyword = "contains" if have is None else "minContains"
            found += (path / keyword).says(kind, "data need not have as many items that match `contains`")
        elif all(
            comparing.compare((each.contains,), reader.contains, path) for each in same if each.contains is not None
        ):
            inner = (
                comparing.compare((same[0].contains,), reader.contains, path / "contains")
                if same[0].contains
                else NOTHING
            )
            found += inner
    if reader.max_contains is not None:
        equal = [
            each
            for each in same
            if each.contains is not None and not comparing.compare((reader.contains,), each.contains, path)
        ]
        if not any(each.max_contains is not None and each.max_contains <= reader.max_contains for each in equal):
            stated = any(each.max_contains is not None for each in same)
            kind = "MAX_CONTAINS_DECREASED" if stated else "MAX_CONTAINS_ADDED"
            found += (path / "maxContains").says(kind, "data may have more items that match `contains`")
    return found


def _unevaluated(facts: Facts, reader: Node, path: Path) -> Found:
    """What was evaluated depends on every keyword beside it, so these have to be the same."""
    if reader.unevaluated_items is None:
        return NOTHING
    for fact in facts:
        if fact.unevaluated_items is not None and same_keywords(fact, reader, _EVALUATING):
            return NOTHING
    kind = "REMOVED" if reader.unevaluated_items.nothing else "NARROWED"
    message = "data may have items that no schema has looked at, or it cannot be told"
    return (path / "unevaluatedItems").says(f"UNEVALUATED_ITEMS_{kind}", message)


_EVALUATING = (
    *("unevaluatedItems", "items", "prefixItems", "additionalItems", "contains"),
    *("allOf", "anyOf", "oneOf", "if", "then", "else", "not", "$ref"),
)
