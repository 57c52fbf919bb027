"""What an expression is once it is read: a tree of these."""

from dataclasses import dataclass
from typing import Literal

Scalar = str | int | float | bool | None
Source = Literal["key", "value"]
Comparator = Literal["==", "!=", "<", "<=", ">", ">=", "contains", "startswith", "endswith"]


@dataclass(frozen=True, slots=True)
class Each:
    """`[]`: any element of a list, or any value of an object."""


Step = str | int | Each  # a field's name, the index of an element, any


@dataclass(frozen=True, slots=True)
class Constant:
    value: Scalar


@dataclass(frozen=True, slots=True)
class Field:
    """A path into the JSON of the value or of the key. No steps: all of it."""

    source: Source
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """The whole key or value as text."""

    source: Source


@dataclass(frozen=True, slots=True)
class Header:
    name: str


@dataclass(frozen=True, slots=True)
class Fact:
    name: Literal["partition", "offset", "timestamp"]


@dataclass(frozen=True, slots=True)
class Length:
    of: "Operand"


Operand = Constant | Field | Text | Header | Fact | Length


@dataclass(frozen=True, slots=True)
class Compare:
    left: Operand
    how: Comparator
    right: Operand


@dataclass(frozen=True, slots=True)
class Matches:
    left: Operand
    pattern: str
    position: int  # in the expression


@dataclass(frozen=True, slots=True)
class OneOf:
    left: Operand
    choices: tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class Present:
    """`has`: it is there, if only as null. `exists` (not_null): it is there and is not null."""

    what: Operand
    not_null: bool


@dataclass(frozen=True, slots=True)
class Truthy:
    """A path by itself: there, and neither null nor false."""

    what: Operand


@dataclass(frozen=True, slots=True)
class Not:
    what: "Condition"


@dataclass(frozen=True, slots=True)
class And:
    all: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Or:
    any: tuple["Condition", ...]


Condition = Compare | Matches | OneOf | Present | Truthy | Not | And | Or
