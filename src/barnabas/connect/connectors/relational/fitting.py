"""A column's values as its kind takes them; those that do not fit, with the reason.

Whole columns at a time: one look at the types of all values says whether any has to be converted at all, which is
what makes a batch cheap.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from uuid import UUID

import msgspec

from barnabas.connect.connectors.relational.kinds import FLOATS, INTEGERS, NOTHING, Kind, reach
from barnabas.connect.connectors.relational.model import Column
from barnabas.connect.contract import Value

Convert = Callable[[Value], Value]

_encode = msgspec.json.Encoder(decimal_format="number").encode
_DIGITS_MAX = 1 << 12  # bits: Python refuses to write integers of more than 4300 digits
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")


def as_json(value: Value) -> str:
    return _encode(value).decode()


@dataclass(slots=True)
class Fitted:
    values: Sequence[Value]
    bad: dict[int, str] = field(default_factory=dict)  # by index: why it does not fit


def fit(name: str, column: Column, values: Sequence[Value], reads_text: bool, is_base64: bool = False) -> Fitted:
    """`name` is the record's own for the column. `is_base64`: its schema says that texts are bytes."""
    types = set(map(type, values))
    types.discard(NOTHING)
    kind = column.kind
    if types <= _KEPT[kind] and (kind not in INTEGERS or not types or reach(values) < INTEGERS[kind]):
        return Fitted(values)
    if reads_text and types == {str} and kind in _FROM_TEXT:
        return Fitted(values)
    return _each(name, column, values, reads_text, is_base64)


def _each(name: str, column: Column, values: Sequence[Value], reads_text: bool, is_base64: bool) -> Fitted:
    converts: Mapping[type, Convert] = _CONVERTED[column.kind]
    if is_base64 and column.kind is Kind.BYTES:
        converts = {**converts, str: _bytes_of_text}
    if column.kind in _FROM_TEXT:
        converts = {**converts, str: _keep if reads_text else _FROM_TEXT[column.kind]}
    fitted: list[Value] = []
    bad: dict[int, str] = {}
    beyond = INTEGERS.get(column.kind)
    for index, value in enumerate(values):
        if value is None:
            fitted.append(None)
            continue
        try:
            converted = converts[type(value)](value)
            if beyond is not None and type(converted) is int and not -beyond <= converted < beyond:
                raise OverflowError
        except KeyError:
            bad[index] = f"field {name!r}: a value of type {type(value).__name__} does not fit a column {column.type}"
        except OverflowError:
            bad[index] = f"field {name!r}: the number is out of the range of a column {column.type}"
        except (ValueError, TypeError, InvalidOperation, RecursionError):
            bad[index] = f"field {name!r}: the {type(value).__name__} cannot be read as {column.type}"
        fitted.append(None if index in bad else converted)
    return Fitted(fitted, bad)


def _keep(value: Value) -> Value:
    return value


def _integer(value: Value) -> int:
    if abs(value) >= 1 << 128:  # also infinities
        raise OverflowError
    if value != value or value != int(value):
        raise ValueError
    return int(value)


def _short(value: int) -> int:
    if value.bit_length() > _DIGITS_MAX:
        raise OverflowError
    return value


def _integer_of_text(value: str) -> int:
    if not _INTEGER.fullmatch(value):
        raise ValueError
    return int(value)


def _bytes_of_text(value: str) -> bytes:
    """Bytes of Avro and Protobuf come as JSON has them."""
    return base64.b64decode(value, validate=True)


def _decimal_of_text(value: str) -> Decimal:
    if len(value) > 1000:
        raise ValueError
    return Decimal(value)


_BOOLEANS = {"true": True, "false": False, "t": True, "f": False}


def _boolean_of_text(value: str) -> bool:
    if value.lower() not in _BOOLEANS:
        raise ValueError
    return _BOOLEANS[value.lower()]


def _aware(value: datetime) -> datetime:
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


def _naive(value: datetime) -> datetime:
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def _midnight(value: date) -> datetime:
    return datetime(value.year, value.month, value.day)


def _array(value: Sequence[Value]) -> str:
    """As PostgreSQL reads arrays; elements are text, numbers, booleans, null, or lists of them."""
    return "{" + ",".join(map(_element, value)) + "}"


def _element(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        return _array(value)
    text = value if isinstance(value, str) else as_json(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_NUMBERS: dict[type, Convert] = {int: _short, float: _keep, Decimal: _keep}
_AS_JSON: dict[type, Convert] = dict.fromkeys(
    (str, bool, int, float, Decimal, dict, list, tuple, bytes, datetime, date, time, UUID), as_json
)
_AS_TEXT: dict[type, Convert] = {
    str: _keep,
    bool: as_json,
    int: lambda value: str(_short(value)),
    float: repr,
    Decimal: str,
    dict: as_json,
    list: as_json,
    tuple: as_json,
    datetime: datetime.isoformat,
    date: date.isoformat,
    time: time.isoformat,
    UUID: str,
}
_WHOLE: dict[type, Convert] = {int: _keep, float: _integer, Decimal: _integer}
_ROUNDED: dict[type, Convert] = {float: _keep, int: float, Decimal: float}

_CONVERTED: dict[Kind, dict[type, Convert]] = {
    Kind.BOOLEAN: {bool: _keep},
    Kind.NUMERIC: _NUMBERS,
    Kind.TEXT: _AS_TEXT,
    Kind.JSON: _AS_JSON,
    Kind.BYTES: {bytes: _keep},
    Kind.TIMESTAMP: {datetime: _naive, date: _midnight},
    Kind.TIMESTAMPTZ: {datetime: _aware, date: lambda value: _aware(_midnight(value))},
    Kind.DATE: {date: _keep},
    Kind.TIME: {time: _keep},
    Kind.UUID: {UUID: _keep},
    Kind.ARRAY: {list: _array, tuple: _array},
    Kind.OTHER: _AS_TEXT,
    **dict.fromkeys(INTEGERS, _WHOLE),
    **dict.fromkeys(FLOATS, _ROUNDED),
}
_KEPT: dict[Kind, frozenset[type]] = {
    kind: frozenset(given for given, convert in converts.items() if convert is _keep)
    for kind, converts in _CONVERTED.items()
}
_FROM_TEXT: dict[Kind, Convert] = {
    Kind.BOOLEAN: _boolean_of_text,
    Kind.NUMERIC: _decimal_of_text,
    Kind.TIMESTAMP: lambda value: _naive(datetime.fromisoformat(value)),
    Kind.TIMESTAMPTZ: lambda value: _aware(datetime.fromisoformat(value)),
    Kind.DATE: date.fromisoformat,
    Kind.TIME: time.fromisoformat,
    Kind.UUID: UUID,
    Kind.ARRAY: _keep,
    **dict.fromkeys(INTEGERS, _integer_of_text),
    **dict.fromkeys(FLOATS, float),
}
