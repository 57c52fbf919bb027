"""Kafka's messages as plain dictionaries, by kio's field tables: a second opinion beside barnabas.wire.codec, sharing
no code with it.

Same conventions (snake_case names, times in plain `_ms` integers, uuids as 16 bytes), so one request body serves
every version:
keys a version does not carry are left out, fields not given take the schema's default. `decode_response` must use up
every byte.
"""

from __future__ import annotations

import dataclasses
import functools
import struct
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from kio.index import load_entity_schema, load_request_schema, load_response_schema
from kio.schema.index import api_key_map, schema_name_map
from kio.serial._introspect import EntityField, EntityTupleField, classify_field
from kio.static.constants import EntityType

_FIXED = {
    "int8": ">b",
    "int16": ">h",
    "int32": ">i",
    "int64": ">q",
    "uint8": ">B",
    "uint16": ">H",
    "uint32": ">I",
    "uint64": ">Q",
    "float64": ">d",
    "bool": ">?",
    "error_code": ">h",
    "timedelta_i32": ">i",
    "timedelta_i64": ">q",
    "datetime_i64": ">q",
}


class Malformed(Exception):
    """Bytes that do not follow the schema."""


@dataclasses.dataclass(frozen=True)
class _Field:
    name: str  # ours, with _ms where a time
    kind: str  # a kafka_type, or "struct"
    array: bool
    nullable: bool
    tag: int | None
    struct: _Struct | None
    default: Any


@dataclasses.dataclass(frozen=True)
class _Struct:
    flexible: bool
    fields: tuple[_Field, ...]


def _nullable(annotation: Any) -> bool:
    return get_origin(annotation) is not tuple and type(None) in get_args(annotation)


def _plain(value: Any, kind: str) -> Any:
    if kind == "datetime_i64":
        return -1 if value is None else int(value.timestamp() * 1000)
    if kind.startswith("timedelta"):
        return value // __import__("datetime").timedelta(milliseconds=1)
    if kind == "uuid":
        return bytes(16) if value is None else value.bytes
    if kind == "error_code":
        return int(value.value)
    return value


_ZERO: dict[str, Any] = {"string": "", "bytes": b"", "records": None, "uuid": bytes(16), "bool": False, "float64": 0.0}


@functools.cache
def _table(schema: type) -> _Struct:
    out = []
    for field in dataclasses.fields(schema):
        shape = classify_field(field)
        is_struct = isinstance(shape, EntityField | EntityTupleField)
        kind = "struct" if is_struct else field.metadata["kafka_type"]
        name = f"{field.name}_ms" if kind.startswith(("timedelta", "datetime")) else field.name
        nullable = _nullable(field.type)
        if field.default is not dataclasses.MISSING:
            default = field.default
            if dataclasses.is_dataclass(default):
                default = {}
            elif isinstance(default, tuple):
                default = list(default)
            else:
                default = _plain(default, kind) if default is not None or kind in ("uuid", "datetime_i64") else None
        elif shape.is_array:
            default = []
        elif is_struct:
            default = None if nullable else {}
        else:
            default = _ZERO.get(kind, 0)
        nested = _table(shape.type_) if is_struct else None
        out.append(_Field(name, kind, shape.is_array, nullable, field.metadata.get("tag"), nested, default))
    return _Struct(schema.__flexible__, tuple(out))  # type: ignore[attr-defined]


def _uvarint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


# --- writing


def _write_value(out: bytearray, kind: str, nested: _Struct | None, flexible: bool, value: Any) -> None:
    if kind == "struct":
        assert nested is not None
        _write_struct(out, nested, value)
    elif kind in _FIXED:
        out += struct.pack(_FIXED[kind], value)
    elif kind == "uuid":
        assert len(value) == 16
        out += value
    else:  # string, bytes, records
        data = value.encode() if isinstance(value, str) else value
        if flexible:
            out += _uvarint(0 if data is None else len(data) + 1)
        else:
            out += struct.pack(">h" if kind == "string" else ">i", -1 if data is None else len(data))
        out += data or b""


def _write_field(out: bytearray, field: _Field, flexible: bool, value: Any) -> None:
    if field.array:
        length = -1 if value is None else len(value)
        out += _uvarint(length + 1) if flexible else struct.pack(">i", length)
        for item in value or ():
            _write_value(out, field.kind, field.struct, flexible, item)
    elif field.kind == "struct" and field.nullable and field.tag is None:
        out += struct.pack(">b", -1 if value is None else 1)
        if value is not None:
            _write_value(out, field.kind, field.struct, flexible, value)
    else:
        _write_value(out, field.kind, field.struct, flexible, value)


def _write_struct(out: bytearray, table: _Struct, body: Mapping[str, Any]) -> None:
    tags: list[tuple[int, bytes]] = []
    for field in table.fields:
        value = body.get(field.name, field.default)
        if field.tag is None:
            _write_field(out, field, table.flexible, value)
        elif field.name in body and value != field.default:
            tagged = bytearray()
            _write_field(tagged, field, table.flexible, value)
            tags.append((field.tag, bytes(tagged)))
    if table.flexible:
        out += _uvarint(len(tags))
        for tag, data in sorted(tags):
            out += _uvarint(tag) + _uvarint(len(data)) + data


# --- reading


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, n: int) -> bytes:
        if n < 0 or self.at + n > len(self.data):
            raise Malformed(f"{n} bytes wanted at {self.at}, {len(self.data) - self.at} left")
        self.at += n
        return self.data[self.at - n : self.at]

    def fixed(self, fmt: str) -> Any:
        return struct.unpack(fmt, self.take(struct.calcsize(fmt)))[0]

    def uvarint(self) -> int:
        shift = value = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 35:
                raise Malformed("varint too long")


def _read_value(r: _Reader, kind: str, nested: _Struct | None, flexible: bool) -> Any:
    if kind == "struct":
        assert nested is not None
        return _read_struct(r, nested)
    if kind in _FIXED:
        return r.fixed(_FIXED[kind])
    if kind == "uuid":
        return r.take(16)
    length = r.uvarint() - 1 if flexible else r.fixed(">h" if kind == "string" else ">i")
    if length < 0:
        return None
    data = r.take(length)
    return data.decode() if kind == "string" else data


def _read_field(r: _Reader, field: _Field, flexible: bool) -> Any:
    if field.array:
        count = r.uvarint() - 1 if flexible else r.fixed(">i")
        if count > len(r.data):
            raise Malformed(f"array {field.name} of {count}")
        return None if count < 0 else [_read_value(r, field.kind, field.struct, flexible) for _ in range(count)]
    if field.kind == "struct" and field.nullable and field.tag is None and r.fixed(">b") < 0:
        return None
    return _read_value(r, field.kind, field.struct, flexible)


def _read_struct(r: _Reader, table: _Struct) -> dict[str, Any]:
    body = {f.name: _read_field(r, f, table.flexible) for f in table.fields if f.tag is None}
    for f in table.fields:
        if f.tag is not None:
            body[f.name] = (
                _read_struct(_Reader(_encode(f.struct, {})), f.struct) if f.default == {} and f.struct else f.default
            )
    if table.flexible:
        known = {f.tag: f for f in table.fields if f.tag is not None}
        last = -1
        for _ in range(r.uvarint()):
            tag, size = r.uvarint(), r.uvarint()
            if tag <= last:
                raise Malformed("tags out of order")
            last = tag
            data = _Reader(r.take(size))
            if tag in known:
                body[known[tag].name] = _read_field(data, known[tag], True)
                if data.at != size:
                    raise Malformed(f"tag {tag} of {size} bytes, {data.at} used")
            else:
                body.setdefault("unknown_tags", {})[tag] = data.data
    return body


# --- public


def _encode(table: _Struct, body: Mapping[str, Any]) -> bytes:
    out = bytearray()
    _write_struct(out, table, body)
    return bytes(out)


def request_table(api_key: int, version: int) -> _Struct:
    return _table(load_request_schema(api_key, version))


def response_table(api_key: int, version: int) -> _Struct:
    return _table(load_response_schema(api_key, version))


def encode_request(api_key: int, version: int, body: Mapping[str, Any]) -> bytes:
    return _encode(request_table(api_key, version), body)


def decode_response(api_key: int, version: int, data: bytes) -> dict[str, Any]:
    reader = _Reader(data)
    body = _read_struct(reader, response_table(api_key, version))
    if reader.at != len(data):
        raise Malformed(f"{len(data) - reader.at} bytes left after the answer of api {api_key} v{version}")
    return body


def encode_data(name: str, version: int, body: Mapping[str, Any]) -> bytes:
    return _encode(_table(load_entity_schema(name, version, EntityType.data)), body)


def decode_data(name: str, version: int, data: bytes) -> dict[str, Any]:
    return _read_struct(_Reader(data), _table(load_entity_schema(name, version, EntityType.data)))


def versions(api_key: int) -> range:
    """The versions kio knows of an API."""
    known = sorted(schema_name_map[api_key_map[api_key]])
    return range(known[0], known[-1] + 1)


def name(api_key: int) -> str:
    return api_key_map[api_key]


def flexible_request(api_key: int, version: int) -> bool:
    return bool(load_request_schema(api_key, version).__flexible__)


Encoder = Callable[[int, int, Mapping[str, Any]], bytes]
