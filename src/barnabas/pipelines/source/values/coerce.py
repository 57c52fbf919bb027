"""A value read from JSON as the type that the schema wants, strictly: what does not fit is bad and says where.

A number is no text and a text no number. Times are ISO 8601 texts, without a zone they are UTC; milliseconds are taken
for a timestamp only on request. Whole numbers may stand for floating ones, and not the other way round. A field of a
struct that is not nullable must be there. `framework/decoding.py` says the same in SQL.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from pyspark.sql import types

from barnabas.pipelines.source.values import texts
from barnabas.pipelines.source.values.bad import Bad

_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_DATE, _TIMESTAMP, _MILLISECONDS = (re.compile(each) for each in (texts.DATE, texts.TIMESTAMP, texts.MILLISECONDS))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def coerce(value: object, kind: types.DataType, path: str, milliseconds: bool = False) -> object:
    """`kind` is a Spark type; `path` names the field in the message."""
    if value is None:
        return None
    if isinstance(kind, types.StructType):
        if not isinstance(value, dict):
            raise _wrong(value, kind, path)
        return _struct(value, kind, f"{path}." if path else "", milliseconds)
    if isinstance(kind, types.ArrayType):
        if not isinstance(value, list):
            raise _wrong(value, kind, path)
        return [coerce(each, kind.elementType, f"{path}[{at}]", milliseconds) for at, each in enumerate(value)]
    if isinstance(kind, types.MapType):
        if not isinstance(value, dict):
            raise _wrong(value, kind, path)
        return [(key, coerce(each, kind.valueType, f"{path}.{key}", milliseconds)) for key, each in value.items()]
    name = kind.typeName()
    if milliseconds and name in ("timestamp", "timestamp_ntz") and (found := _since_1970(value)) is not None:
        return found if name == "timestamp" else found.replace(tzinfo=None)
    return _plain(value, kind, name, path)


def _struct(value: dict[str, object], kind: types.StructType, inner: str, milliseconds: bool) -> dict[str, object]:
    found = {
        each.name: coerce(value.get(each.name), each.dataType, inner + each.name, milliseconds) for each in kind.fields
    }
    missing = [inner + each.name for each in kind.fields if not each.nullable and found[each.name] is None]
    if missing:
        raise Bad(f"missing: {', '.join(missing)}")
    return found


def _since_1970(value: object) -> datetime | None:
    if type(value) is not int and not isinstance(value, str):
        return None
    if not _MILLISECONDS.fullmatch(str(value)):
        return None
    try:
        return _EPOCH + timedelta(milliseconds=int(value))
    except OverflowError:  # before the year 1 or after 9999
        return None


def _plain(value: object, kind: types.DataType, name: str, path: str) -> object:
    if name in _BITS:
        if type(value) is int and -(1 << _BITS[name] - 1) <= value < 1 << _BITS[name] - 1:
            return value
    elif name in ("double", "float"):
        most = math.inf if name == "double" else texts.FLOAT_MAX
        if isinstance(value, (int, float)) and type(value) is not bool and math.isfinite(value) and abs(value) <= most:
            return float(value)
    elif name == "boolean":
        if type(value) is bool:
            return value
    elif name == "string":
        if isinstance(value, str):
            return value
    elif isinstance(kind, types.DecimalType):
        return _decimal(value, kind, path)
    elif isinstance(value, str):
        return _from_text(value, kind, name, path)
    raise _wrong(value, kind, path)


def _from_text(value: str, kind: types.DataType, name: str, path: str) -> object:
    try:
        if name == "binary":
            return base64.b64decode(value, validate=True)
        if name == "date" and _DATE.fullmatch(value):
            return date.fromisoformat(value)
        if name in ("timestamp", "timestamp_ntz") and _TIMESTAMP.fullmatch(value):
            found = datetime.fromisoformat(value)
            if name == "timestamp_ntz":
                return found.replace(tzinfo=None)
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    except (ValueError, binascii.Error):
        pass
    raise _wrong(value, kind, path)


def _decimal(value: object, kind: types.DecimalType, path: str) -> Decimal:
    if type(value) in (int, float, str):
        try:
            found = Decimal(str(value)).quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
        except InvalidOperation:
            pass
        else:
            if found.is_finite() and len(found.as_tuple().digits) <= kind.precision:
                return found
    raise _wrong(value, kind, path)


def _wrong(value: object, kind: types.DataType, path: str) -> Bad:
    text = repr(value)
    return Bad(f"{path or 'the value'}: {text[:40]}{' ...' if len(text) > 40 else ''} is not {kind.simpleString()}")
