"""Objects: their properties by name, by pattern and all others.

An open content model takes any further property, a closed one none, a partially open one those that its
additionalProperties or patternProperties take. A property that is new in the reader's schema has to take whatever an
open writer's model let pass under that name; one that is gone has to be taken by what the reader's model is open for.
"""

from __future__ import annotations

from collections.abc import Iterator

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


def object_differences(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    return (
        _required(facts, reader, path, comparing)
        + _named(facts, reader, path, comparing)
        + _by_pattern(facts, reader, path, comparing)
        + _additional(facts, reader, path, comparing)
        + _dependencies(facts, reader, path, comparing)
        + _names(facts, reader, path, comparing)
        + upper(facts, reader, "max_properties", "maxProperties", path)
        + lower(facts, reader, "min_properties", "minProperties", path)
        + _unevaluated(facts, reader, path)
    )


def _required(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    before = frozenset[str]().union(*(each.required for each in facts))
    found = NOTHING
    for name in sorted(reader.required - before):
        if len(found) >= ENOUGH:
            break
        schema = reader.properties.get(name)
        if schema is not None and _default_of(schema):
            continue
        known = any(name in each.properties for each in facts)
        opened = _of_name(facts, name, comparing) == ()
        if schema is not None and not known and opened and not _takes_all(schema):
            continue  # said of the property already: it was added to an open content model
        if schema is not None and not known:
            message = f"property {name!r} is new and required, and has no default: data does not have it"
            found += (path / "properties" / name).says("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL", message)
        else:
            message = f"property {name!r} is required and has no default, and data need not have it"
            found += (path / "required" / name).says("REQUIRED_ATTRIBUTE_ADDED", message)
    return found


def _default_of(schema: Node) -> bool:
    return schema.has_default or (schema.ref is not None and schema.ref.has_default)


def _takes_all(schema: Node) -> bool:
    return schema.value is True or schema.value == {}


def _of_name(facts: Facts, name: str, comparing: Comparing) -> tuple[Node, ...] | None:
    """What data's property of a name keeps to; None: data does not have it."""
    comparing.step(len(facts))
    result: list[Node] = []
    for fact in facts:
        own = list(_schemas(fact, name, comparing))
        if any(each.nothing for each in own):
            return None
        result += own
    return tuple(result)


def _schemas(fact: Node, name: str, comparing: Comparing) -> Iterator[Node]:
    named = fact.properties.get(name)
    if named is not None:
        yield named
    certain = named is not None
    for pattern, schema in fact.pattern_properties.items():
        match comparing.matches(pattern, name):
            case True:
                certain = True
                yield schema
            case None:
                certain = True  # perhaps it does: then additionalProperties does not hold
    if not certain and fact.additional is not None:
        yield fact.additional


def _named(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    found = NOTHING
    before = dict.fromkeys(name for each in facts for name in each.properties)
    for name in (*reader.properties, *(each for each in before if each not in reader.properties)):
        if len(found) >= ENOUGH:
            break
        here = path / "properties" / name
        data = _of_name(facts, name, comparing)
        if data is None:
            continue
        if name in reader.properties:
            inner = comparing.compare(data, reader.properties[name], here)
            if inner and name not in before:
                inner = _added(data, name, inner, here)
            found += inner
        elif name in before:
            found += _removed(data, name, reader, here, comparing)
        for pattern, schema in reader.pattern_properties.items():
            if comparing.matches(pattern, name) is not False:
                found += comparing.compare(data, schema, here)
    return found


def _added(data: tuple[Node, ...], name: str, inner: Found, here: Path) -> Found:
    if not data:
        message = f"property {name!r} is new, and data may have any value there: the old content model is open"
        return here.says("PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", message)
    message = f"property {name!r} is new and takes less than the old content model did"
    return inner + here.says("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", message)


def _removed(data: tuple[Node, ...], name: str, reader: Node, here: Path, comparing: Comparing) -> Found:
    if any(comparing.matches(pattern, name) for pattern in reader.pattern_properties) or reader.additional is None:
        return NOTHING
    if reader.additional.nothing:
        message = f"property {name!r} is gone, and the content model is closed: data may have it"
        return here.says("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", message)
    inner = comparing.compare(data, reader.additional, here)
    if not inner:
        return NOTHING
    message = f"property {name!r} is gone, and the content model does not take what data may have there"
    return inner + here.says("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", message)


def _by_pattern(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    found = NOTHING
    comparing.step(len(facts) * len(reader.pattern_properties))
    for pattern, schema in reader.pattern_properties.items():
        if len(found) >= ENOUGH:
            break
        data: list[Node] = []
        for fact in facts:
            if pattern in fact.pattern_properties:
                data.append(fact.pattern_properties[pattern])
            elif fact.additional is not None and not fact.pattern_properties:
                data.append(fact.additional)
        if any(each.nothing for each in data):
            continue
        here = path / "patternProperties" / pattern
        inner = comparing.compare(tuple(data), schema, here)
        if inner and not data:
            message = f"properties that match {pattern[:200]!r} may have any value in data"
            inner = here.says("ADDITIONAL_PROPERTIES_NARROWED", message)
        found += inner
    return found


def _additional(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    """Properties that neither names nor patterns of the reader's schema cover."""
    if reader.additional is None:
        return NOTHING
    here, found = path / "additionalProperties", NOTHING
    for fact in facts:
        for pattern, schema in fact.pattern_properties.items():
            if len(found) < ENOUGH and pattern not in reader.pattern_properties and not schema.nothing:
                found += comparing.compare((schema,), reader.additional, path / "patternProperties" / pattern)
    if found and _refuted_elsewhere(facts):
        found = NOTHING
    data = tuple(fact.additional for fact in facts if fact.additional is not None)
    if any(each.nothing for each in data):
        return found
    inner = comparing.compare(data, reader.additional, here)
    if not inner:
        return found
    if reader.additional.nothing:
        message = "the content model is closed now, and data may have further properties"
        return found + here.says("ADDITIONAL_PROPERTIES_REMOVED", message)
    if not data:
        message = "further properties may have any value in data, and the schema does not take any"
        return found + here.says("ADDITIONAL_PROPERTIES_NARROWED", message)
    return found + inner


def _refuted_elsewhere(facts: Facts) -> bool:
    """Another fact closes the content model without patterns."""
    return any(
        fact.additional is not None and fact.additional.nothing and not fact.pattern_properties for fact in facts
    )


def _dependencies(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    found, always = NOTHING, frozenset[str]().union(*(each.required for each in facts))
    comparing.step(len(facts) * (len(reader.dependent_required) + len(reader.dependent_schemas)))
    for name, wanted in reader.dependent_required.items():
        here = path / "dependencies" / name
        stated = [each.dependent_required[name] for each in facts if name in each.dependent_required]
        before = frozenset[str]().union(*stated)
        lost = sorted(wanted - before - always)
        if lost and len(found) < ENOUGH:
            kind = "ADDED" if not stated else "EXTENDED" if before <= wanted else "CHANGED"
            message = f"data with property {name!r} need not have {', '.join(lost[:10])[:500]}"
            found += here.says(f"DEPENDENCY_ARRAY_{kind}", message)
    for name, schema in reader.dependent_schemas.items():
        if len(found) >= ENOUGH:
            break
        here = path / "dependencies" / name
        data = tuple(each.dependent_schemas[name] for each in facts if name in each.dependent_schemas)
        inner = comparing.compare((*facts, *data), schema, here)
        if inner and not data:
            message = f"data with property {name!r} did not have to keep to a schema"
            inner = here.says("DEPENDENCY_SCHEMA_ADDED", message)
        found += inner
    return found


def _names(facts: Facts, reader: Node, path: Path, comparing: Comparing) -> Found:
    if reader.property_names is None:
        return NOTHING
    here = path / "propertyNames"
    data = tuple(each.property_names for each in facts if each.property_names is not None)
    inner = comparing.compare((_NAME, *data), reader.property_names, here)
    if inner and not data:
        return here.says("SCHEMA_ADDED", "names of properties did not have to keep to a schema")
    return inner


def _unevaluated(facts: Facts, reader: Node, path: Path) -> Found:
    """What was evaluated depends on every keyword beside it, so these have to be the same; properties may be added."""
    if reader.unevaluated_properties is None:
        return NOTHING
    for fact in facts:
        if (
            fact.unevaluated_properties is not None
            and fact.properties.keys() <= reader.properties.keys()
            and fact.pattern_properties.keys() <= reader.pattern_properties.keys()
            and same_keywords(fact, reader, _EVALUATING)
        ):
            return NOTHING
    kind = "REMOVED" if reader.unevaluated_properties.nothing else "NARROWED"
    message = "data may have properties that no schema has looked at, or it cannot be told"
    return (path / "unevaluatedProperties").says(f"UNEVALUATED_PROPERTIES_{kind}", message)


_EVALUATING = (
    *("unevaluatedProperties", "additionalProperties", "dependentSchemas"),
    *("allOf", "anyOf", "oneOf", "if", "then", "else", "not", "$ref"),
)
_NAME = Node.of_type("string")
