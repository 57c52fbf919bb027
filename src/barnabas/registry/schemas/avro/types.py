"""Avro's types, as a text describes them. A type is one object wherever it is named, so recursive types are cycles.

`height` is how many types are nested in it, names followed; a name within its own definition counts nothing. It bounds
the recursion of whatever walks over types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from barnabas.model.json_values import Json, JsonObject

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
KINDS = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}


@dataclass(slots=True, eq=False)
class Primitive:
    kind: str
    attributes: JsonObject = field(default_factory=dict)  # those that the format does not know, logicalType among them
    height: ClassVar[int] = 0


@dataclass(slots=True, eq=False)
class Array:
    items: Type
    attributes: JsonObject
    height: int
    kind: ClassVar[str] = "array"


@dataclass(slots=True, eq=False)
class Map:
    values: Type
    attributes: JsonObject
    height: int
    kind: ClassVar[str] = "map"


@dataclass(slots=True, eq=False)
class Union:
    branches: tuple[Type, ...]
    height: int
    kind: ClassVar[str] = "union"


@dataclass(slots=True, eq=False)
class Name:
    simple: str
    space: str  # the namespace; empty: none

    @property
    def full(self) -> str:
        return f"{self.space}.{self.simple}" if self.space else self.simple

    def within(self, space: str) -> str:
        """How a text says the name where `space` is the namespace."""
        # A record may be called n.int; as "int" it would be the primitive.
        return self.simple if space and space == self.space and self.simple not in KINDS else self.full


@dataclass(slots=True, eq=False)
class Enum:
    name: Name
    doc: str | None
    aliases: tuple[Name, ...]
    symbols: tuple[str, ...]
    default: str | None
    attributes: JsonObject
    kind: ClassVar[str] = "enum"
    height: ClassVar[int] = 0


@dataclass(slots=True, eq=False)
class Fixed:
    name: Name
    doc: str | None
    aliases: tuple[Name, ...]
    size: int
    attributes: JsonObject
    kind: ClassVar[str] = "fixed"
    height: ClassVar[int] = 0


@dataclass(slots=True, eq=False)
class Field:
    name: str
    type: Type
    doc: str | None
    aliases: tuple[str, ...]
    order: str
    default: Json  # None as well where there is none: has_default
    has_default: bool
    attributes: JsonObject


@dataclass(slots=True, eq=False)
class Record:
    name: Name
    doc: str | None
    aliases: tuple[Name, ...] = ()
    attributes: JsonObject = field(default_factory=dict)
    is_error: bool = False
    fields: dict[str, Field] = field(default_factory=dict)  # in order
    height: int = 0
    complete: bool = False  # all fields have been read
    kind: ClassVar[str] = "record"


Type: TypeAlias = Primitive | Array | Map | Union | Enum | Fixed | Record
Named: TypeAlias = Enum | Fixed | Record
