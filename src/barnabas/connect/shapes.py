"""What the schemas of a registry say of fields, for sinks that make columns of them.

A record that was written with a schema names it by an id. The decoder of a sink's topic looks each id up once, and adds
its fields to those of the topic; a sink into tables then has the type of a column before there is a value for it, and
the columns of a new version with the first record of that version. Fields only come: a version that lacks one leaves
the column, and a version that gives a field another type leaves the column to the rules for values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

FIELDS_MAX = 2000  # of a topic: more than a table has columns
SCHEMAS_MAX = 1000  # of a topic that are looked at; more is somebody who makes a schema for each record


class FieldType(Enum):
    BOOLEAN = auto()
    INT32 = auto()
    INT64 = auto()
    UINT64 = auto()
    DECIMAL = auto()
    FLOAT64 = auto()
    TEXT = auto()
    JSON = auto()  # structures, lists, and what may be of several types
    BYTES = auto()
    TIMESTAMP = auto()  # without a time zone
    TIMESTAMPTZ = auto()
    DATE = auto()
    TIME = auto()
    UUID = auto()


@dataclass(frozen=True, slots=True)
class Field:
    type: FieldType
    precision: int = 0  # of a decimal; 0: not said
    scale: int = 0


Shape: TypeAlias = Mapping[str, Field]  # fields by name, in the order of the schema
NO_FIELDS: Shape = {}
WHOLE = ""  # the name of a key that is one value


class Shapes:
    """Of the topics that a task reads. One thread uses it."""

    def __init__(self, change: Callable[[Shape], Shape] | None = None, keys_change: bool = False) -> None:
        """`change`: what the transformations of the definition make of a value's fields. `keys_change`: they make keys
        of their own."""
        self.is_wanted = False  # until a sink asks, nothing is looked up
        self._change = change
        self._keys_change = keys_change
        self._values: dict[str, dict[str, Field]] = {}
        self._keys: dict[str, dict[str, Field]] = {}
        self._seen: dict[tuple[str, str], set[object]] = {}

    def is_new(self, topic: str, part: str, schema: object) -> bool:
        """Whether this schema has to be added, which is asked for each record."""
        seen = self._seen.setdefault((topic, part), set())
        if schema in seen or len(seen) >= SCHEMAS_MAX:
            return False
        seen.add(schema)
        return True

    def add(self, topic: str, part: str, shape: Shape) -> None:
        if part == "key" and self._keys_change:
            return
        if part == "value" and self._change is not None:
            shape = self._change(shape)
        known = (self._keys if part == "key" else self._values).setdefault(topic, {})
        for name, field in shape.items():
            if len(known) < FIELDS_MAX or name in known:
                known[name] = _joined(known.get(name), field)

    def value(self, topic: str) -> Shape:
        return self._values.get(topic, NO_FIELDS)

    def key(self, topic: str) -> Shape:
        return self._keys.get(topic, NO_FIELDS)


def _joined(before: Field | None, field: Field) -> Field:
    """Of decimals what both fit in; otherwise the newer type, which counts only where there is no column yet."""
    if before is None or before.type is not FieldType.DECIMAL or field.type is not FieldType.DECIMAL:
        return field
    scale = max(before.scale, field.scale)
    if not before.precision or not field.precision:
        return Field(FieldType.DECIMAL, 0, scale)
    whole = max(before.precision - before.scale, field.precision - field.scale)
    return Field(FieldType.DECIMAL, whole + scale, scale)


class TakesShapes:
    """A sink that wants to know: the task gives it what its decoder finds."""

    shapes: Shapes | None = None

    def take(self, shapes: Shapes) -> None:
        shapes.is_wanted = True
        self.shapes = shapes


def give(sink: object, shapes: Shapes) -> None:
    if isinstance(sink, TakesShapes):
        sink.take(shapes)
