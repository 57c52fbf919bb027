"""Default values as Avro's JSON has them: bytes as characters of the same number, logical types as what they lie in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

from barnabas.client.errors import BadSetting
from barnabas.client.serde.serializers import Value

_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def default_of(schema: Value, value: object, where: str) -> Value:
    """`value` is what fastavro would be given. A default of a union is of its first branch."""
    if isinstance(schema, list):
        return default_of(schema[0], value, where)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode("latin-1")
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {name: default_of(_inside(schema, name), each, where) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [default_of(schema["items"], each, where) for each in value]
    found = _of_logical_type(schema, value)
    if found is None:
        raise BadSetting(f"{where}: the default {value!r} cannot be said in an Avro schema")
    return found


def _inside(schema: Value, name: str) -> Value:
    if schema.get("type") == "map":
        return schema["values"]
    return next((each["type"] for each in schema.get("fields", ()) if each["name"] == name), "null")


def _of_logical_type(schema: Value, value: object) -> Value:
    if isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.astimezone()
        since = moment - _EPOCH
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(value, date):
        return value.toordinal() - _EPOCH_DAY
    if isinstance(value, time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    if isinstance(value, Decimal) and value.is_finite() and isinstance(schema, dict):
        unscaled = value.scaleb(schema.get("scale", 0))
        if unscaled == unscaled.to_integral_value():
            number = int(unscaled)
            return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True).decode("latin-1")
    return None
