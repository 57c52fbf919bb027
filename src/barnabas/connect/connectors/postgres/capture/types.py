"""Columns' values from PostgreSQL's text to Python, by the type's OID.

The text is that of DateStyle ISO, time zone UTC, IntervalStyle iso_8601 (connection.py sets them). What Python's type
cannot hold stays text as the server wrote it: `infinity`, years before 1 and after 9999, 24:00:00. Types without a
counterpart stay text as well: enums, ranges, addresses, intervals, money, composite types.
"""

from __future__ import annotations

import datetime
import decimal
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from barnabas.connect.contract import Value

Convert: TypeAlias = Callable[[bytes], Value]

_DIMENSIONS_MAX = 6  # of an array, as in the server
_STEPS_MAX = 8  # from a domain over domains to a type
_UP_TO_QUOTE = re.compile(rb'((?:[^"\\]++|\\.)*+)"', re.DOTALL)
_SPECIAL = re.compile(rb'["{}\\]')
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TypeFacts:
    """Of a row of pg_type."""

    element: int = 0  # of an array
    base: int = 0  # of a domain
    delimiter: bytes = b","


Lookup: TypeAlias = Callable[[Iterable[int]], Mapping[int, TypeFacts]]

text: Convert = bytes.decode

_LARGEST = sys.float_info.max


def lenient_text(data: bytes) -> str:
    """A database in SQL_ASCII may hold any bytes."""
    return data.decode("utf-8", "backslashreplace")


def _decimal(data: bytes) -> Value:
    return decimal.Decimal(data.decode())


def _bytea(data: bytes) -> Value:
    if data[:2] != b"\\x":
        raise ValueError("no bytea in hexadecimal")
    return bytes.fromhex(data[2:].decode())


def _uuid(data: bytes) -> Value:
    return uuid.UUID(data.decode())


_decode_json = msgspec.json.Decoder().decode


def _json(data: bytes) -> Value:
    try:
        return _decode_json(data)
    except (msgspec.DecodeError, RecursionError):  # the type json takes escapes that are no Unicode
        return lenient_text(data)


def _timestamp(data: bytes) -> Value:
    read = data.decode()
    try:
        return datetime.datetime.fromisoformat(read)
    except ValueError:
        return read


def _date(data: bytes) -> Value:
    read = data.decode()
    try:
        return datetime.date.fromisoformat(read)
    except ValueError:
        return read


def _time(data: bytes) -> Value:
    read = data.decode()
    try:
        return datetime.time.fromisoformat(read)
    except ValueError:
        return read


def _float(data: bytes) -> Value:
    """JSON has no number for NaN and the infinities, and would have null: they stay text, as Debezium writes them."""
    read = float(data)
    return read if -_LARGEST <= read <= _LARGEST else data.decode()


_OF_TYPES: dict[int, Convert] = {
    16: b"t".__eq__,  # bool
    17: _bytea,
    20: int,  # int8
    21: int,  # int2
    23: int,  # int4
    26: int,  # oid
    114: _json,
    700: _float,  # float4
    701: _float,  # float8
    1082: _date,
    1083: _time,
    1114: _timestamp,
    1184: _timestamp,  # timestamptz
    1266: _time,  # timetz
    1700: _decimal,  # numeric
    2950: _uuid,
    3802: _json,  # jsonb
}
_TEXTS = {18, 19, 25, 142, 650, 718, 774, 790, 829, 869, 1042, 1043, 1186, 1560, 1562}  # known to be nothing else


def converters(oids: Iterable[int], lookup: Lookup) -> dict[int, Convert]:
    """For each of the types. `lookup` asks the server about those that are not known."""
    wanted = set(oids)
    facts: dict[int, TypeFacts] = {}
    unknown = wanted - _OF_TYPES.keys() - _TEXTS
    for _ in range(_STEPS_MAX):
        if not unknown:
            break
        found = lookup(sorted(unknown))
        facts.update({oid: found.get(oid, TypeFacts()) for oid in unknown})
        unknown = {inner for oid in unknown for inner in (facts[oid].element, facts[oid].base) if inner}
        unknown -= facts.keys() | _OF_TYPES.keys() | _TEXTS
    return {oid: _converter(oid, facts, _STEPS_MAX) for oid in wanted}


def _converter(oid: int, facts: Mapping[int, TypeFacts], steps: int) -> Convert:
    if (known := _OF_TYPES.get(oid)) is not None:
        return known
    found = facts.get(oid)
    if found is None or steps == 0:
        return text
    if found.base:
        return _converter(found.base, facts, steps - 1)
    if found.element:
        inner, delimiter = _converter(found.element, facts, steps - 1), found.delimiter
        if inner is text:
            inner = lenient_text
        return lambda data: read_array(data, inner, delimiter)
    return text


def read_array(data: bytes, convert: Convert, delimiter: bytes = b",") -> list[Value]:
    """`{1,NULL,"a \\"b\\""}`, `{{1,2},{3,4}}`, `[0:1]={1,2}`. Raises ValueError."""
    if data[:1] == b"[":
        data = data[data.index(b"=") + 1 :]
    if data[:1] != b"{" or data[-1:] != b"}":
        raise ValueError("no array")
    inside = data[1:-1]
    if not inside:
        return []
    if not _SPECIAL.search(inside):
        return [None if each == b"NULL" else convert(each) for each in inside.split(delimiter)]
    return _nested_array(data, convert, delimiter[0])


def _nested_array(data: bytes, convert: Convert, delimiter: int) -> list[Value]:
    """Every byte is looked at once. The server quotes what has a brace, a quote, a delimiter or a backslash in it."""
    stack: list[list[Value]] = []
    at, end = 0, len(data)
    while at < end:
        byte = data[at]
        if byte == 0x7B:  # {
            if len(stack) == _DIMENSIONS_MAX:
                raise ValueError("an array of too many dimensions")
            stack.append([])
            at += 1
        elif not stack:
            raise ValueError("an array that does not begin")
        elif byte == 0x7D:  # }
            done = stack.pop()
            at += 1
            if not stack:
                if at != end:
                    raise ValueError("an array with something behind it")
                return done
            stack[-1].append(done)
        elif byte == delimiter:
            at += 1
        elif byte == 0x22:  # "
            element, at = _quoted(data, at + 1)
            stack[-1].append(convert(element))
        else:
            start = at
            while at < end and data[at] != delimiter and data[at] != 0x7D:
                at += 1
            element = data[start:at]
            stack[-1].append(None if element == b"NULL" else convert(element))
    raise ValueError("an array that does not end")


def _quoted(data: bytes, at: int) -> tuple[bytes, int]:
    """What stands before the closing quote, and the place behind it."""
    found = _UP_TO_QUOTE.match(data, at)
    if found is None:
        raise ValueError("an array with a quote that does not end")
    element = found[1]
    return (_ESCAPED.sub(rb"\1", element) if b"\\" in element else element), found.end()
