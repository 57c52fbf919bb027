"""Debezium's form of a value beside ours: the same value, by the schema that Debezium writes beside it."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Json = Any  # what a record holds
Schema = Mapping[str, Any]  # of a field, as Connect's JSON converter writes it

_EPOCH = datetime.datetime(1970, 1, 1)
_INTERVAL = re.compile(
    r"P(?:(?P<Y>-?\d+)Y)?(?:(?P<M>-?\d+)M)?(?:(?P<D>-?\d+)D)?"
    r"(?:T(?:(?P<h>-?\d+)H)?(?:(?P<m>-?\d+)M)?(?:(?P<s>-?[\d.]+)S)?)?"
)
_MONTH_DAYS = decimal.Decimal("30.4375")  # of a month in Debezium's microseconds


def same(schema: Schema, theirs: Json, ours: Json) -> bool:
    if theirs is None or ours is None:
        return theirs is ours
    if schema["type"] == "array":
        pairs = zip(theirs, ours, strict=True)
        return len(theirs) == len(ours) and all(same(schema["items"], one, other) for one, other in pairs)
    if schema["type"] == "boolean" and isinstance(ours, str):  # bit(1)
        return bool(theirs is (ours == "1"))
    compare = _BY_NAME.get(schema.get("name", ""))
    return bool(theirs == ours) if compare is None else compare(schema, theirs, ours)


def differences(schema: Schema, theirs: Json, ours: Json) -> list[str]:
    """Of two rows: the columns that differ. Columns and their order are a difference too."""
    if theirs is None or ours is None:
        return [] if theirs is ours else [f"{ours} is {theirs} in Debezium"]
    if list(theirs) != list(ours):
        return [f"columns {list(ours)} are {list(theirs)} in Debezium"]
    fields = {each["field"]: each for each in schema["fields"]}
    return [
        f"{name}: {ours[name]!r} is {theirs[name]!r} in Debezium, as {fields[name].get('name', fields[name]['type'])}"
        for name in theirs
        if not same(fields[name], theirs[name], ours[name]) and not _unknown(fields[name], theirs[name], ours[name])
    ]


def _unknown(schema: Schema, theirs: Json, ours: Json) -> bool:
    """Of a row that is deleted the server tells the key only. Ours has null for the rest; Debezium has that too, but in
    columns that are NOT NULL it has the empty value of the type."""
    return ours is None and not schema["optional"] and theirs in ("", 0, False)


def _number(text: str, scale: int) -> decimal.Decimal:
    unscaled = int.from_bytes(base64.b64decode(text), "big", signed=True)
    return decimal.Decimal(unscaled).scaleb(-scale)


def _text(schema: Schema, theirs: Json, ours: Json) -> bool:
    return bool(str(_number(theirs, int(schema["parameters"]["scale"]))) == re.sub(r"[$,]", "", ours))  # also money


def _variable(schema: Schema, theirs: Json, ours: Json) -> bool:
    return bool(str(_number(theirs["value"], theirs["scale"])) == ours)


def _date(schema: Schema, theirs: Json, ours: Json) -> bool:
    return bool((_EPOCH + datetime.timedelta(days=theirs)).date().isoformat() == ours)


def _time(unit_us: int) -> Callable[[Schema, Json, Json], bool]:
    def compare(schema: Schema, theirs: Json, ours: Json) -> bool:
        return bool((_EPOCH + datetime.timedelta(microseconds=theirs * unit_us)).time().isoformat() == ours)

    return compare


def _timestamp(unit_us: int) -> Callable[[Schema, Json, Json], bool]:
    def compare(schema: Schema, theirs: Json, ours: Json) -> bool:
        return bool((_EPOCH + datetime.timedelta(microseconds=theirs * unit_us)).isoformat() == ours)

    return compare


def _zoned_time(schema: Schema, theirs: Json, ours: Json) -> bool:
    """Ours keeps the offset, Debezium's is in UTC."""
    day = datetime.date(2000, 1, 2)
    one, other = (datetime.datetime.combine(day, datetime.time.fromisoformat(each)) for each in (theirs, ours))
    return one.astimezone(datetime.UTC).time() == other.astimezone(datetime.UTC).time()


def _zoned_timestamp(schema: Schema, theirs: Json, ours: Json) -> bool:
    return bool(theirs.replace(".000000Z", "Z") == ours)


def _duration(schema: Schema, theirs: Json, ours: Json) -> bool:
    found = _INTERVAL.fullmatch(ours)
    assert found is not None, ours
    part = {name: decimal.Decimal(text or 0) for name, text in found.groupdict().items()}
    days = (part["Y"] * 12 + part["M"]) * _MONTH_DAYS + part["D"]
    seconds = ((days * 24 + part["h"]) * 60 + part["m"]) * 60 + part["s"]
    return bool(seconds * 1_000_000 == theirs)


def _json(schema: Schema, theirs: Json, ours: Json) -> bool:
    """Ours is the structure; of an hstore it is PostgreSQL's text."""
    told = json.loads(theirs)
    if isinstance(ours, str) and isinstance(told, dict):
        pairs = (f'"{key}"=>' + ("NULL" if value is None else f'"{value}"') for key, value in told.items())
        return ", ".join(pairs) == ours
    return bool(told == ours)


def _bits(schema: Schema, theirs: Json, ours: Json) -> bool:
    return int.from_bytes(base64.b64decode(theirs), "little") == int(ours, 2)


def _point(schema: Schema, theirs: Json, ours: Json) -> bool:
    return [theirs["x"], theirs["y"]] == [float(each) for each in ours.strip("()").split(",")]


_BY_NAME: dict[str, Callable[[Schema, Json, Json], bool]] = {
    "org.apache.kafka.connect.data.Decimal": _text,
    "io.debezium.data.VariableScaleDecimal": _variable,
    "io.debezium.time.Date": _date,
    "io.debezium.time.Time": _time(1000),
    "io.debezium.time.MicroTime": _time(1),
    "io.debezium.time.Timestamp": _timestamp(1000),
    "io.debezium.time.MicroTimestamp": _timestamp(1),
    "io.debezium.time.ZonedTime": _zoned_time,
    "io.debezium.time.ZonedTimestamp": _zoned_timestamp,
    "io.debezium.time.MicroDuration": _duration,
    "io.debezium.data.Json": _json,
    "io.debezium.data.Bits": _bits,
    "io.debezium.data.geometry.Point": _point,
}
