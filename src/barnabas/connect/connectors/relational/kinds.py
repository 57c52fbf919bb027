"""Kinds of columns, which of them a value asks for, and when a column has to become wider.

A column is as wide as its values need: the first value decides whether it holds numbers, text or something else, and
only numbers are widened after that (int, bigint, numeric or double precision). A value of another sort does not turn a
column of numbers into text, which would break every query on it: it does not fit, and its record is rejected. The kind
that a column has in the end follows from its values in order, not from how they were cut into batches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, auto
from uuid import UUID

from barnabas.connect.contract import Value


class Kind(Enum):
    BOOLEAN = auto()
    INT16 = auto()
    INT32 = auto()
    INT64 = auto()
    INT128 = auto()
    NUMERIC = auto()
    FLOAT32 = auto()
    FLOAT64 = auto()
    TEXT = auto()
    JSON = auto()
    BYTES = auto()
    TIMESTAMP = auto()  # without a time zone; UTC
    TIMESTAMPTZ = auto()
    DATE = auto()
    TIME = auto()
    UUID = auto()
    ARRAY = auto()
    OTHER = auto()  # given as text: the database knows how to read it


# The first integer that is too large; the smallest is its negative.
INTEGERS = {Kind.INT16: 1 << 15, Kind.INT32: 1 << 31, Kind.INT64: 1 << 63, Kind.INT128: 1 << 127}
FLOATS = frozenset((Kind.FLOAT32, Kind.FLOAT64))
DOUBLE_EXACT = 1 << 53  # every integer below this is a double
NOTHING = type(None)

_NATURAL = {
    bool: Kind.BOOLEAN,
    int: Kind.INT64,
    float: Kind.FLOAT64,
    Decimal: Kind.NUMERIC,
    str: Kind.TEXT,
    dict: Kind.JSON,
    list: Kind.JSON,
    tuple: Kind.JSON,
    bytes: Kind.BYTES,
    date: Kind.DATE,
    time: Kind.TIME,
    UUID: Kind.UUID,
}


@dataclass(frozen=True)
class Dialect:
    """How a database differs from the others, as far as columns go."""

    types: Mapping[Kind, str]  # of columns that are made
    exact: Kind | None  # takes any int, float and Decimal without rounding, where the database has one
    reads_text: bool  # text for a column of numbers or times can be left to the database
    folds_case: bool  # "Id" and "id" are one column
    name_bytes: int  # longest name of a table or a column
    reserved: frozenset[str] = frozenset()  # names that no column can have
    decimals: tuple[str, int] = ("", 0)  # how one with precision and scale is declared, and the largest precision


def natural(value: Value) -> Kind | None:
    """The kind of column for a value that is the first; None: there is none."""
    if isinstance(value, datetime):
        return Kind.TIMESTAMP if value.tzinfo is None else Kind.TIMESTAMPTZ
    return _NATURAL.get(type(value))


def first_kind(values: Sequence[Value]) -> Kind | None:
    """The kind of a column that does not exist yet."""
    for value in values:
        if value is not None and (kind := natural(value)) is not None:
            return kind
    return None


def widened(kind: Kind, values: Sequence[Value], types: set[type], dialect: Dialect) -> Kind:
    """The kind that a column of numbers needs for these values too; the same where it is wide enough, is not of
    numbers, or where the database has nothing wider."""
    if kind in INTEGERS:
        return _widened_integers(kind, values, types, dialect)
    if kind in FLOATS and dialect.exact is not None:
        if Decimal in types:
            return dialect.exact
        if int in types and reach(values) >= DOUBLE_EXACT:
            return dialect.exact
    return kind


def _widened_integers(kind: Kind, values: Sequence[Value], types: set[type], dialect: Dialect) -> Kind:
    largest = reach(values) if int in types else 0
    if Decimal in types:
        return Kind.NUMERIC
    if float in types:
        if largest < DOUBLE_EXACT:
            return Kind.FLOAT64
        return dialect.exact or kind
    if largest < INTEGERS[kind]:
        return kind
    for wider, beyond in INTEGERS.items():
        # Not to 32 bits, only to be changed again: that is for schemas that say so.
        if wider in dialect.types and wider is not Kind.INT32 and INTEGERS[kind] < beyond and largest < beyond:
            return wider
    return dialect.exact or kind


def reach(values: Sequence[Value]) -> int:
    """How far the integers among the values go: they fit a kind when this is below its first integer that is too large.
    Of -2**63 that is 2**63 - 1."""
    numbers = [value for value in values if type(value) is int]
    return max(max(numbers), -1 - min(numbers))
