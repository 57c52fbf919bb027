"""A list of columns in Spark's DDL, taken apart as text: only Spark's own parser in the JVM reads all of it.

`NOT NULL` says of a field that it must be there. A Spark column that is NOT NULL may never hold a null, and a bad
record and a tombstone have nothing to put there, so the words are taken off the columns and kept as a rule.
"""

from __future__ import annotations

import re
from functools import cache

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.nearest import nearest

_NOT_NULL = re.compile(r"\s+NOT\s+NULL\b", re.IGNORECASE)
_NAME = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^\s`:]+))")
_TYPE = re.compile(r"\s*:?\s*([A-Za-z_]+)")
_TYPES = (
    "BOOLEAN", "BYTE", "TINYINT", "SHORT", "SMALLINT", "INT", "INTEGER", "LONG", "BIGINT", "FLOAT", "REAL", "DOUBLE",
    "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "STRING", "CHAR", "CHARACTER", "VARCHAR", "BINARY",
    "DECIMAL", "DEC", "NUMERIC", "INTERVAL", "VOID", "ARRAY", "STRUCT", "MAP", "VARIANT",
)  # fmt: skip
_OPENING, _CLOSING, _QUOTES = "<(", ">)", "'\"`"


@cache
def without_not_null(ddl: str) -> tuple[str, frozenset[str]]:
    """The same columns, all nullable, and the names of those that were NOT NULL; what is nested stays as it is."""
    columns, required = [], set()
    for column in _split(ddl):
        kept = _NOT_NULL.sub("", _flat(column))
        if len(kept) < len(column):
            named = _NAME.match(column)
            if named is not None:
                required.add((named[1] or named[2]).replace("``", "`"))
            place = _NOT_NULL.search(_flat(column))
            assert place is not None
            column = column[: place.start()] + column[place.end() :]
        columns.append(column)
    return ",".join(columns), frozenset(required)


def refuse_unknown_types(ddl: str) -> None:
    """The mistakes that are made most: Spark's parser would point at a column that nobody wrote."""
    for column in _split(ddl):
        named = _NAME.match(column)
        kind = _TYPE.match(column, named.end()) if named is not None else None
        if named is None or kind is None:
            raise PipelineError(f"valueSchema: {column.strip()!r} is no column: write 'user STRING, amount DOUBLE'")
        near = None if kind[1].upper() in _TYPES else nearest(kind[1].upper(), _TYPES)
        if near is not None:
            told = f"valueSchema: {column.strip()!r} has no type that Spark knows"
            raise PipelineError(f"{told}: did you mean {near}?")


def _flat(column: str) -> str:
    """The text, with everything in quotes or brackets blanked out: same length, so that places stay."""
    return "".join(char if depth == 0 else "\x00" for char, depth in _depths(column))


def _split(ddl: str) -> list[str]:
    parts = [""]
    for char, depth in _depths(ddl):
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def _depths(text: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    depth, quote = 0, ""
    for char in text:
        if quote:
            found.append((char, depth + 1))
            quote = "" if char == quote else quote
            continue
        if char in _QUOTES:
            quote = char
            found.append((char, depth + 1))
            continue
        if char in _CLOSING:
            depth -= 1
        found.append((char, depth))
        if char in _OPENING:
            depth += 1
    return found
