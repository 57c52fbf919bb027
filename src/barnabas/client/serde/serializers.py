"""Keys and values to bytes and back: Bytes, String, Json, Avro, Protobuf, or two functions of yours.

One object serves both ends: `value_serializer=Json()` on a producer, `value_deserializer=Json()` on a consumer; the
shorthands "bytes", "string" and "json" do the same. None travels as None (a tombstone) and never meets a serializer.

What Avro needs is loaded when it is used. Schemas that are in a registry: serde/registry.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, runtime_checkable

import msgspec

from barnabas.client.errors import BadSetting

# What a record's key or value is to an application: any type of its own, which its serializers take and make.
Value: TypeAlias = Any
AvroSchema: TypeAlias = Mapping[str, object] | str | Path
F = TypeVar("F", bound=Callable[..., object])

Part = Literal["key", "value"]
RecordHeaders = Sequence[tuple[str, bytes | None]]
Encoded = tuple[bytes, tuple[str, bytes] | None]  # the bytes, and a header that the record gets


@runtime_checkable
class Serializer(Protocol):
    """Both directions. What they raise is shown to the user with the record's place."""

    def to_bytes(self, value: Value) -> bytes: ...
    def from_bytes(self, data: bytes) -> Value: ...


@runtime_checkable
class RecordSerializer(Protocol):
    """One that has to know the record: its topic, whether this is the key or the value, its headers. It may have to ask
    somebody else for a schema, once: `is_ready` says whether `encode` would, and `prepare` asks what `decode` will
    need, so that an asyncio loop is not held by it. What it raises as CannotReach or NotAllowed is no fault of the
    record and is raised whatever `on_error` says."""

    def encode(self, value: Value, topic: str, part: Part) -> Encoded: ...
    def is_ready(self, value: Value, topic: str, part: Part) -> bool: ...
    def decode(self, data: bytes, topic: str, part: Part, headers: RecordHeaders | None) -> Value: ...
    def prepare(self, data: bytes, topic: str, part: Part, headers: RecordHeaders | None) -> None: ...


class Bytes:
    """As they are. A str is refused, which the default (no serializer) would encode as UTF-8."""

    def to_bytes(self, value: object) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        raise TypeError(f"bytes wanted, not {type(value).__name__}")

    def from_bytes(self, data: bytes) -> bytes:
        return data


class String:
    def __init__(self, encoding: str = "utf-8") -> None:
        try:
            "".encode(encoding)
        except LookupError:
            raise BadSetting(f"no encoding {encoding!r}") from None
        self._encoding = encoding

    def to_bytes(self, value: object) -> bytes:
        if not isinstance(value, str):
            raise TypeError(f"a str wanted, not {type(value).__name__}")
        return value.encode(self._encoding)

    def from_bytes(self, data: bytes) -> str:
        return data.decode(self._encoding)


class Json:
    """Compact UTF-8 JSON. Dates, UUIDs, dataclasses and msgspec structs are written too; `Json(Order)` reads them back
    as that type and refuses what does not fit. Numbers that are not numbers (NaN, infinity) are written as null."""

    def __init__(self, type: Any = Any) -> None:  # whatever msgspec takes for a type
        self._encode = msgspec.json.Encoder().encode
        self._decode: Callable[[bytes], Value] = msgspec.json.Decoder(type).decode
        self._typed = type is not Any  # whose default reads what comes

    def to_bytes(self, value: object) -> bytes:
        try:
            return self._encode(value)
        except OverflowError:  # integers past 64 bits: rare, legal JSON, and the standard library writes them
            return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    def from_bytes(self, data: bytes) -> Value:
        return self._decode(data)


class Avro:
    """Avro's binary encoding with a schema known to both sides (a dict, a JSON text, or the path of an .avsc file).
    What was written with an older schema is read with `Avro(new, written_with=old)`."""

    def __init__(self, schema: AvroSchema, written_with: AvroSchema | None = None) -> None:
        import fastavro

        from barnabas.client.serde.registry.avro.bounds import check_for

        self._schema = _parsed(fastavro, schema)
        self._writer_schema = self._schema if written_with is None else _parsed(fastavro, written_with)
        self._write = fastavro.schemaless_writer
        self._read = fastavro.schemaless_reader
        self._check = check_for(self._writer_schema)

    def to_bytes(self, value: object) -> bytes:
        out = io.BytesIO()
        self._write(out, self._schema, value)
        return out.getvalue()

    def from_bytes(self, data: bytes) -> Value:
        if self._check is not None:
            self._check(data, 0)
        stream = io.BytesIO(data)
        value = self._read(stream, self._writer_schema, self._schema)
        left = len(data) - stream.tell()
        if left:
            raise ValueError(f"{left} bytes are left over: written with another schema?")
        return value


class Protobuf:
    """Messages of one generated class."""

    def __init__(self, message: type[Value]) -> None:
        if not hasattr(message, "FromString") or not hasattr(message, "SerializeToString"):
            raise BadSetting(f"Protobuf wants a class generated by protoc, not {message!r}")
        self._message = message

    def to_bytes(self, value: object) -> bytes:
        if not isinstance(value, self._message):
            raise TypeError(f"the value has to be of the class {self._message.__name__}, not {type(value).__name__}")
        data: bytes = value.SerializeToString()
        return data

    def from_bytes(self, data: bytes) -> Value:
        return self._message.FromString(data)


SerializerLike = Serializer | RecordSerializer | str | Callable[[Value], bytes] | None
DeserializerLike = Serializer | RecordSerializer | str | Callable[[bytes], Value] | None
_SHORTHANDS: dict[str, Callable[[], Serializer]] = {"bytes": Bytes, "string": String, "json": Json}


def encoder(serializer: SerializerLike) -> Callable[[Value], bytes] | None:
    """The function value -> bytes; None when values are bytes or text already. RecordSerializers: serde/records.py."""
    if isinstance(serializer, RecordSerializer):
        return None
    resolved = _resolve(serializer)
    return resolved.to_bytes if isinstance(resolved, Serializer) else resolved


def decoder(deserializer: DeserializerLike) -> Callable[[bytes], Value] | None:
    """The function bytes -> value; None leaves them bytes."""
    if isinstance(deserializer, RecordSerializer):
        return None
    resolved = _resolve(deserializer)
    if isinstance(resolved, Bytes):
        return None
    return resolved.from_bytes if isinstance(resolved, Serializer) else resolved


def _resolve(given: Serializer | str | F | None) -> Serializer | F | None:
    if isinstance(given, str):
        if given not in _SHORTHANDS:
            raise BadSetting(f"no serializer {given!r}: one of {', '.join(_SHORTHANDS)}, or an object")
        return _SHORTHANDS[given]()
    if isinstance(given, type):
        raise BadSetting(f"give an object, not the class: {given.__name__}()")
    if isinstance(given, int):  # which has to_bytes and from_bytes too
        raise BadSetting(f"not a serializer: {given!r}")
    if given is None or isinstance(given, Serializer) or callable(given):
        return given
    raise BadSetting(f"not a serializer: {given!r}")


def _parsed(fastavro: ModuleType, schema: AvroSchema) -> Value:
    try:
        if isinstance(schema, str) and not schema.lstrip().startswith(("{", "[", '"')):
            schema = Path(schema)  # a schema's JSON text begins with one of these
        if isinstance(schema, Path):
            schema = schema.read_text()
        return fastavro.parse_schema(json.loads(schema) if isinstance(schema, str) else schema)
    except OSError as error:
        raise BadSetting(f"cannot read the Avro schema {schema}: {(error.strerror or str(error)).lower()}") from None
    except Exception as error:
        raise BadSetting(f"not an Avro schema: {error or type(error).__name__}") from None
