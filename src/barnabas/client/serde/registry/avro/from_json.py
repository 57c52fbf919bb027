"""Plain JSON as a person writes it becomes what fastavro takes, by the schema.

bytes are base64, decimals are texts or numbers, times are ISO texts or the number that Avro has. A value of a union is
written as it is, or with its branch's name as Avro's own JSON has it: {"string": "x"}. A field that is left out takes
its default. ValueError says where a value does not fit.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from uuid import UUID

from barnabas.client.serde.serializers import Value

_BOUNDS = {"int": 1 << 31, "long": 1 << 63}
_MISSING = object()


class JsonToAvro:
    def __init__(self, parsed: Value) -> None:
        """`parsed` by fastavro, which has written every name in full."""
        self._schema = parsed
        self._named: dict[str, Value] = {}
        self._collect(parsed)

    def convert(self, value: Value) -> Value:
        return self._of(self._schema, value, "")

    def _collect(self, schema: Value) -> None:
        if isinstance(schema, list):
            for each in schema:
                self._collect(each)
        elif isinstance(schema, dict):
            if schema.get("name") and schema.get("type") in ("record", "enum", "fixed", "error"):
                self._named[schema["name"]] = schema
            for each in (schema.get("items"), schema.get("values"), schema.get("type")):
                if isinstance(each, (dict, list)):
                    self._collect(each)
            for field in schema.get("fields") or ():
                self._collect(field["type"])

    def _of(self, schema: Value, value: Value, path: str) -> Value:
        if isinstance(schema, list):
            return self._union(schema, value, path)
        if isinstance(schema, str) and schema in self._named:
            schema = self._named[schema]
        kind, logical = (schema, None) if isinstance(schema, str) else (schema["type"], schema.get("logicalType"))
        if isinstance(kind, (dict, list)):
            return self._of(kind, value, path)
        if logical in _LOGICAL and not isinstance(value, bool):
            return _checked(_LOGICAL[logical], value, path, str(logical))
        if kind in ("record", "error"):
            return self._record(schema, value, path)
        if kind == "array":
            _is(value, list, path, "a list")
            return [self._of(schema["items"], each, f"{path}[{place}]") for place, each in enumerate(value)]
        if kind == "map":
            _is(value, dict, path, "an object")
            return {name: self._of(schema["values"], each, f"{path}.{name}") for name, each in value.items()}
        if kind == "enum":
            if value not in schema["symbols"]:
                raise _wrong(path, f"one of {', '.join(schema['symbols'])}", value)
            return value
        return _primitive(kind, value, path)

    def _record(self, schema: Value, value: Value, path: str) -> dict[str, Value]:
        _is(value, dict, path, f"an object ({schema['name']})")
        known = {each["name"] for each in schema["fields"]}
        for name in value:
            if name not in known:
                raise ValueError(
                    f"{path}.{name}: {schema['name']} has no such field; it has {', '.join(sorted(known))}"
                )
        found = {}
        for field in schema["fields"]:
            name = field["name"]
            given = value.get(name, _MISSING)
            if given is not _MISSING:
                found[name] = self._of(field["type"], given, f"{path}.{name}")
            elif "default" not in field:
                raise ValueError(f"{path}.{name} is missing, and has no default")
        return found

    def _union(self, branches: list[Value], value: Value, path: str) -> Value:
        if isinstance(value, dict) and len(value) == 1:
            name, inner = next(iter(value.items()))
            for each in branches:
                if name == _name(each):
                    found = self._of(each, inner, path)
                    return (name, found) if isinstance(found, dict) and name in self._named else found
        told = []
        for each in branches:
            try:
                found = self._of(each, value, path)
            except ValueError as error:
                told.append(str(error))
                continue
            # Records of a union may look alike to fastavro: it is told which one was meant.
            named = _name(each)
            return (named, found) if isinstance(found, dict) and named in self._named else found
        others = [each for each, text in zip(branches, told, strict=True) if each != "null"]
        if len(others) == 1 and value is not None:
            raise ValueError(next(text for each, text in zip(branches, told, strict=True) if each != "null"))
        raise _wrong(path, f"one of {', '.join(map(_name, branches))}", value)


def _name(schema: Value) -> str:
    return schema if isinstance(schema, str) else str(schema.get("name", schema.get("type")))


def _primitive(kind: str, value: Value, path: str) -> Value:
    if kind == "null":
        if value is not None:
            raise _wrong(path, "null", value)
    elif kind == "boolean":
        _is(value, bool, path, "true or false")
    elif kind in _BOUNDS:
        if isinstance(value, bool) or not isinstance(value, int) or not -_BOUNDS[kind] <= value < _BOUNDS[kind]:
            raise _wrong(path, f"a whole number ({kind})", value)
    elif kind in ("float", "double"):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _wrong(path, f"a number ({kind})", value)
    elif kind in ("bytes", "fixed"):
        return _checked(_base64, value, path, f"base64 ({kind})")
    else:
        _is(value, str, path, "a text")
    return value


def _is(value: Value, kind: type, path: str, wanted: str) -> None:
    if not isinstance(value, kind):
        raise _wrong(path, wanted, value)


def _checked(convert: Callable[[Value], Value], value: Value, path: str, wanted: str) -> Value:
    try:
        return convert(value)
    except (ValueError, TypeError, InvalidOperation, OverflowError, binascii.Error):
        raise _wrong(path, wanted, value) from None


def _wrong(path: str, wanted: str, value: Value) -> ValueError:
    shown = repr(value)
    return ValueError(
        f"{path or 'the value'}: {wanted} is wanted, not {shown if len(shown) < 60 else shown[:57] + '...'}"
    )


def _base64(value: Value) -> bytes:
    return base64.b64decode(value, validate=True)


def _decimal(value: Value) -> Decimal:
    if not isinstance(value, (str, int, float)):
        raise TypeError
    return Decimal(str(value))


def _moment(value: Value) -> Value:
    if isinstance(value, int):
        return value
    found = datetime.fromisoformat(value)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _or_number(read: Callable[[str], Value]) -> Callable[[Value], Value]:
    return lambda value: value if isinstance(value, int) else read(value)


_LOGICAL: Mapping[object, Callable[[Value], Value]] = {
    "decimal": _decimal,
    "uuid": lambda value: str(UUID(value)),
    "date": _or_number(date.fromisoformat),
    "time-millis": _or_number(time.fromisoformat),
    "time-micros": _or_number(time.fromisoformat),
    "timestamp-millis": _moment,
    "timestamp-micros": _moment,
    "local-timestamp-millis": _or_number(datetime.fromisoformat),
    "local-timestamp-micros": _or_number(datetime.fromisoformat),
}
