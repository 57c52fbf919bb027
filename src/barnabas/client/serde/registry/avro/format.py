"""Avro with a registry: fastavro writes and reads; the reader's schema is the program's, the writer's the registry's.

A schema that is nothing but `bytes` is written without Avro's length before it, as Confluent's serializers do.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

import fastavro

from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.avro.bounds import check_for
from barnabas.client.serde.registry.avro.parsing import has_containers, parse
from barnabas.client.serde.registry.avro.types import TypeMapper
from barnabas.client.serde.registry.framing import SchemaKey
from barnabas.client.serde.registry.models import kind_of
from barnabas.client.serde.registry.schema import Registered, Schema, SchemaType
from barnabas.client.serde.registry.serializer import Publish, Read, Write
from barnabas.client.serde.registry.texts import text_of
from barnabas.client.serde.serializers import Value

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry

AvroSource = type[Value] | Mapping[str, object] | Sequence[object] | str | Path


class _Shape:
    """A schema, and what makes of a program's values what fastavro takes, and back."""

    def __init__(self, source: AvroSource, namespace: str | None) -> None:
        self.write: Callable[[Value], Value] | None = None
        self.read: Callable[[Value], Value] | None = None
        if kind_of(source) is not None:
            mapped = TypeMapper(namespace).of(source)
            self.text, self.write, self.read = _compact(mapped.schema), mapped.write, mapped.read
        else:
            self.text = text_of(source, "Avro")
        self.schema = Schema("AVRO", self.text)


class AvroFormat:
    schema_type: SchemaType = "AVRO"

    def __init__(self, source: AvroSource | None, namespace: str | None = None) -> None:
        self._namespace = namespace
        self._given = None if source is None else _Shape(source, namespace)
        self._shapes: dict[type, _Shape] = {}
        if self._given is not None:
            _checked(self._given.schema)

    def kind_of(self, value: Value) -> object:
        return None if self._given is not None else type(value)

    def name_of(self, value: Value, schema: Schema | None) -> str:
        shape = self._shape(value)
        told = schema if shape is None else shape.schema
        parsed = None if told is None else json.loads(told.text)
        if not isinstance(parsed, dict) or not isinstance(parsed.get("name"), str):
            return ""
        name, namespace = parsed["name"], parsed.get("namespace")
        return f"{namespace}.{name}" if namespace and "." not in name else str(name)

    def schema_of(self, value: Value, publish: Publish) -> Schema | None:
        shape = self._shape(value)
        return None if shape is None else shape.schema

    def message_of(self, found: Registered, value: Value) -> bytes:
        return b""

    def writer(self, found: Registered, value: Value, registry: Registry) -> Write:
        parsed, shape = parse(found.schema, registry), self._shape(value)
        convert = None if shape is None else shape.write
        if is_bytes(parsed):
            return _plain_bytes
        write = fastavro.schemaless_writer

        def to_bytes(value: Value) -> bytes:
            out = io.BytesIO()
            write(out, parsed, value if convert is None else convert(value))
            return out.getvalue()

        return to_bytes

    def reader(self, key: SchemaKey, registry: Registry) -> Read:
        schema = registry.schema(key)
        if schema.type != "AVRO":
            raise BadSetting(f"schema {key} is {schema.type}, not AVRO")
        written, wanted = parse(schema, registry), None
        given = self._given
        if given is not None and given.text != schema.text:
            wanted = _checked(given.schema)
        shares = wanted is not None and has_containers(wanted)
        if is_bytes(written):
            return lambda data, start: data[start:]
        read, convert = fastavro.schemaless_reader, None if given is None else given.read
        check = check_for(written)

        def from_bytes(data: bytes, start: int) -> Value:
            if check is not None:
                check(data, start)
            stream = io.BytesIO(data)
            stream.seek(start)
            value = read(stream, written, wanted)
            if shares:
                value = deepcopy(value)
            if stream.tell() != len(data):
                raise ValueError(f"{len(data) - stream.tell()} bytes are left over behind the value")
            return value if convert is None else convert(value)

        return from_bytes

    def _shape(self, value: Value) -> _Shape | None:
        if self._given is not None:
            return self._given
        kind = type(value)
        if kind not in self._shapes and kind_of(kind) is not None:
            self._shapes[kind] = _Shape(kind, self._namespace)
        return self._shapes.get(kind)


def _checked(schema: Schema) -> Value:
    return parse(schema, None)


def is_bytes(parsed: Value) -> bool:
    return bool(parsed == "bytes" or (isinstance(parsed, dict) and parsed.get("type") == "bytes"))


def _plain_bytes(value: Value) -> bytes:
    if not isinstance(value, (bytes, bytearray)):
        raise TypeError(f"the schema is bytes, and the value is of type {type(value).__name__}")
    return bytes(value)


def _compact(schema: Value) -> str:
    return json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
