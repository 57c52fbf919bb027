"""Writes types back as text: the order of attributes is that of Avro's Schema.toString in Java, which is what
Confluent's registry stores and compares.

Normalized is also: attributes and aliases in order, a logical type with its precision and scale first, an empty `doc`
of a type left out, an error as a record, the default of a float or double with a fraction. One thing differs:
Confluent's loses a default that does not fit the first branch of a union; here it stays.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from barnabas.model.json_values import Json, JsonObject
from barnabas.registry.schemas.avro.defaults import DefaultCheck
from barnabas.registry.schemas.avro.types import Array, Enum, Field, Fixed, Map, Named, Primitive, Record, Type, Union
from barnabas.registry.schemas.json_text import quoted, sorted_keys, written

_LOGICAL = ("logicalType", "precision", "scale")


def text_of(type_: Type, known: Iterable[str] = (), *, normal: bool = False) -> str:
    """`known`: full names of the types that references define, which are named only."""
    return _Writer(set(known), normal).type(type_, "")


def definition(type_: Named) -> str:
    """What makes two definitions of one name the same: all but documentation and aliases; other types by name only."""
    return _Definition(set(), False).body(type_, type_.name.space)


class _Writer:
    def __init__(self, known: set[str], normal: bool) -> None:
        self._known = known
        self._normal = normal

    def type(self, type_: Type, space: str) -> str:
        if isinstance(type_, Primitive):
            others = self._others(type_.attributes, logical=True)
            return f'{{"type":"{type_.kind}"{others}}}' if others else f'"{type_.kind}"'
        if isinstance(type_, Union):
            return f"[{','.join([self.type(each, space) for each in type_.branches])}]"
        if isinstance(type_, Array):
            return f'{{"type":"array","items":{self.type(type_.items, space)}{self._others(type_.attributes)}}}'
        if isinstance(type_, Map):
            return f'{{"type":"map","values":{self.type(type_.values, space)}{self._others(type_.attributes)}}}'
        return self._named(type_, space)

    def _named(self, type_: Named, space: str) -> str:
        if type_.name.full in self._known:
            return quoted(type_.name.within(space))
        self._known.add(type_.name.full)
        return self.body(type_, space)

    def body(self, type_: Named, space: str) -> str:
        kind = "error" if isinstance(type_, Record) and type_.is_error and not self._normal else type_.kind
        parts = [f'{{"type":"{kind}","name":{quoted(type_.name.simple)}']
        if type_.name.space != space:
            parts.append(f',"namespace":{quoted(type_.name.space)}')
        if type_.doc is not None and (type_.doc or not self._normal):
            parts.append(self._doc(type_.doc))
        if isinstance(type_, Record):
            fields = [self._field(each, type_.name.space) for each in type_.fields.values()]
            parts.append(f',"fields":[{",".join(fields)}]')
        elif isinstance(type_, Enum):
            parts.append(f',"symbols":{written(list(type_.symbols))}')
            if type_.default is not None:
                parts.append(f',"default":{quoted(type_.default)}')
        else:
            parts.append(f',"size":{type_.size}')
        parts.append(self._others(type_.attributes, logical=isinstance(type_, Fixed)))
        if type_.aliases:
            parts.append(self._type_aliases(type_))
        return "".join(parts) + "}"

    def _field(self, field: Field, space: str) -> str:
        parts = [f'{{"name":{quoted(field.name)},"type":{self.type(field.type, space)}']
        if field.doc is not None:
            parts.append(self._doc(field.doc))
        if field.has_default:
            default = sorted_keys(_normal_default(field.type, field.default)) if self._normal else field.default
            parts.append(f',"default":{written(default)}')
        if field.order != "ascending":
            parts.append(f',"order":"{field.order}"')
        if field.aliases:
            parts.append(self._field_aliases(field))
        return "".join(parts) + self._others(field.attributes) + "}"

    def _doc(self, doc: str) -> str:
        return f',"doc":{quoted(doc)}'

    def _type_aliases(self, type_: Named) -> str:
        aliases = type_.aliases
        if self._normal:
            aliases = tuple(sorted(aliases, key=lambda each: each.full))
        # Within a namespace, ".B" would be B of no namespace; Avro's parser and writer in Java both leave the dot out.
        return f',"aliases":{written([each.within(type_.name.space) for each in aliases])}'

    def _field_aliases(self, field: Field) -> str:
        return f',"aliases":{written(sorted(field.aliases) if self._normal else list(field.aliases))}'

    def _others(self, attributes: JsonObject, *, logical: bool = False) -> str:
        """Attributes that Avro does not know, each after a comma."""
        if not attributes:
            return ""
        if self._normal:
            first = [key for key in _LOGICAL if logical and "logicalType" in attributes and key in attributes]
            keys = first + sorted(key for key in attributes if key not in first)
            attributes = {key: sorted_keys(attributes[key]) for key in keys}
        return "".join([f",{quoted(key)}:{written(each)}" for key, each in attributes.items()])


class _Definition(_Writer):
    def _named(self, type_: Named, space: str) -> str:
        return quoted(type_.name.full)

    def _doc(self, doc: str) -> str:
        return ""

    def _type_aliases(self, type_: Named) -> str:
        return ""

    def _field_aliases(self, field: Field) -> str:
        return ""


def _normal_default(type_: Type, value: Json) -> Json:
    if isinstance(type_, Union):
        first = type_.branches[0] if type_.branches else None
        return _normal_default(first, value) if first is not None and DefaultCheck().fits(first, value) else value
    if isinstance(type_, Array) and isinstance(value, list):
        return [_normal_default(type_.items, each) for each in value]
    if isinstance(type_, Map) and isinstance(value, dict):
        return {key: _normal_default(type_.values, each) for key, each in value.items()}
    if isinstance(type_, Record) and isinstance(value, dict):
        fields = type_.fields
        return {key: _normal_default(fields[key].type, each) if key in fields else each for key, each in value.items()}
    if type_.kind in ("float", "double") and type(value) in (int, float):
        return _single(value) if type_.kind == "float" else _double(value)
    return value


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond a double
        return value


def _single(value: float) -> float:
    """The shortest decimal that is the same number in 32 bits."""
    try:
        bits = struct.pack("f", value)
    except OverflowError:
        return value
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if struct.pack("f", short) == bits:
            return short
    return float(value)
