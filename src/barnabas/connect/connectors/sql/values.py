"""Values of rows: as a record has them, and as a position keeps them, in JSON."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from uuid import UUID

import msgspec

from barnabas.connect.contract import Value
from barnabas.connect.errors import Unavailable

_KEPT = (str, int, float, bool, type(None), dict, list, datetime, date, time, Decimal, UUID, bytes)
_PLAIN = (str, int, float, bool, type(None))
_SIZES: dict[type, Callable[[Value], int]] = {
    str: len,
    bytes: len,
    dict: lambda value: len(str(value)),
    list: lambda value: len(str(value)),
}


def of_row(value: Value) -> Value:
    """What formats can write; anything else as its text (an address, a range, an interval)."""
    if type(value) in _KEPT or isinstance(value, _KEPT):
        return value
    return bytes(value) if isinstance(value, bytearray | memoryview) else str(value)


def size(value: Value) -> int:
    """About how many bytes."""
    measure = _SIZES.get(type(value))
    return 8 if measure is None else measure(value)


def to_json(value: Value) -> Value:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, UUID):
        return {"uuid": str(value)}
    raise Unavailable(
        f"rows cannot be read by a column whose values are of type {type(value).__name__}", "Name another column"
    )


_READ: dict[str, Callable[[str], Value]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "bytes": base64.b64decode,
    "decimal": Decimal,
    "uuid": UUID,
}


def from_json(value: Value) -> Value:
    if not isinstance(value, dict):
        return value
    ((kind, text),) = value.items()
    return _READ[kind](text)


def _or_text(read: Callable[[str], Value]) -> Callable[[Value], Value]:
    """SQLite keeps anything in any column: what cannot be read as the column is declared stays as it is."""

    def convert(value: Value) -> Value:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except (ValueError, msgspec.DecodeError):
            return value

    return convert


sqlite_datetime = _or_text(datetime.fromisoformat)
sqlite_date = _or_text(date.fromisoformat)
sqlite_json = _or_text(msgspec.json.decode)


def sqlite_boolean(value: Value) -> Value:
    return bool(value) if value in (0, 1) else value
