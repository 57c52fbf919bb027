"""Whether a default fits its type, as Avro's parser in Java decides it: of a union any branch may fit, the default of
an enum or a fixed may be any text, an integer has to fit its bits."""

from __future__ import annotations

import re

from barnabas.model import limits
from barnabas.model.json_values import Json
from barnabas.registry.schemas.avro.types import Array, Map, Primitive, Record, Type, Union
from barnabas.registry.schemas.parsed import InvalidSchema

_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?")
_INTEGERS = {"int": 1 << 31, "long": 1 << 63}


def stated_default(type_: Type, default: Json, field: str) -> Json:
    """The default of a float or double may be a text, which is how NaN is said."""
    if not isinstance(default, str) or type_.kind not in ("float", "double"):
        return default
    text = default.strip()
    if len(text) > 400 or not _DOUBLE.fullmatch(text):
        raise InvalidSchema(f"default of field {field} is no number: {default[:200]!r}")
    return float(text.rstrip("fFdD") if text[-1] in "fFdD" else text)


class DefaultCheck:
    """A value is compared with a type once, however many unions ask: nested unions would multiply the comparisons."""

    def __init__(self) -> None:
        self._steps = 0

    def fits(self, type_: Type, value: Json) -> bool:
        return self._fits(type_, value, {})

    def _fits(self, type_: Type, value: Json, known: dict[tuple[int, int], bool]) -> bool:
        if isinstance(type_, Primitive):
            return _fits_primitive(type_.kind, value)
        if type_.kind in ("enum", "fixed"):
            return isinstance(value, str)
        key = (id(type_), id(value))
        if key not in known:
            self._steps += 1
            if self._steps > limits.SCHEMA_NODES_MAX:
                raise InvalidSchema(f"the defaults need more than {limits.SCHEMA_NODES_MAX:,} steps to check")
            known[key] = self._fits_inner(type_, value, known)
        return known[key]

    def _fits_inner(self, type_: Type, value: Json, known: dict[tuple[int, int], bool]) -> bool:
        if isinstance(type_, Union):
            return any(self._fits(each, value, known) for each in type_.branches)
        if isinstance(type_, Array):
            return isinstance(value, list) and all(self._fits(type_.items, each, known) for each in value)
        if isinstance(type_, Map):
            return isinstance(value, dict) and all(self._fits(type_.values, each, known) for each in value.values())
        if not isinstance(value, dict) or not isinstance(type_, Record):
            return False
        if not type_.complete:
            raise InvalidSchema(f"a default within record {type_.name.full} cannot be a value of that record")
        return all(
            self._fits(field.type, value[field.name], known) if field.name in value else field.has_default
            for field in type_.fields.values()
        )


def _fits_primitive(kind: str, value: Json) -> bool:
    if kind in _INTEGERS:
        return type(value) is int and -_INTEGERS[kind] <= value < _INTEGERS[kind]
    if kind in ("float", "double"):
        return type(value) in (int, float)
    if kind in ("string", "bytes"):
        return isinstance(value, str)
    return isinstance(value, bool) if kind == "boolean" else value is None
