"""Records of any format as JSON, and JSON as a record of a schema: what the command line and the console show and take.

Avro's logical types are ISO texts and decimals texts, bytes are base64; Protobuf is its own JSON mapping with the names
of the .proto file and with numbers of 64 bits as numbers, which filters can compare; JSON is as it was written.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.framing import SchemaKey, indexes_bytes
from barnabas.client.serde.registry.schema import Reference, Registered, Schema, SchemaType
from barnabas.client.serde.registry.serializer import Publish, Read, SchemaSerializer, Write, Writing
from barnabas.client.serde.registry.texts import read_schema
from barnabas.client.serde.serializers import Value

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry

TYPE_OF_ENDING: dict[str, SchemaType] = {".avsc": "AVRO", ".json": "JSON", ".proto": "PROTOBUF"}
_encode = msgspec.json.Encoder().encode
_check = msgspec.json.Decoder(msgspec.Raw).decode


def plain_reader(registry: Registry, defaults: bool = False) -> SchemaSerializer:
    """`decode` gives JSON texts as bytes, whatever the record's format. `defaults`: with the fields of Protobuf that
    are not sent because they have the value that nobody has to send, such as 0."""
    return SchemaSerializer(registry, PlainFormat(None, defaults), Writing())


def plain_writer(registry: Registry, schema: Schema | None, subject: str | None = None) -> SchemaSerializer:
    """`encode` takes what a JSON text says. `schema` None: the newest one of the subject, which is named after the
    topic where it is not given."""
    writing = Writing(
        use_latest_version=schema is None, subject="topic" if subject is None else lambda _topic, _part, _name: subject
    )
    return SchemaSerializer(registry, PlainFormat(schema), writing)


def schema_of_file(path: Path, type: SchemaType | None = None, references: tuple[Reference, ...] = ()) -> Schema:
    """A schema of a file; its type by the name's ending where it is not said."""
    found = type or TYPE_OF_ENDING.get(path.suffix)
    if found is None:
        endings = ", ".join(TYPE_OF_ENDING)
        raise BadSetting(f"{path}: what is it? A schema's name ends with {endings}; else `barnabas schema` has --type")
    return Schema(found, read_schema(path, found.capitalize()), references)


class PlainFormat:
    schema_type = None  # whichever a schema has

    def __init__(self, schema: Schema | None, defaults: bool = False) -> None:
        self._schema, self._defaults = schema, defaults

    def kind_of(self, value: Value) -> object:
        return None

    def name_of(self, value: Value, schema: Schema | None) -> str:
        return ""

    def schema_of(self, value: Value, publish: Publish) -> Schema | None:
        return self._schema

    def message_of(self, found: Registered, value: Value) -> bytes:
        return indexes_bytes([0]) if found.schema.type == "PROTOBUF" else b""

    def writer(self, found: Registered, value: Value, registry: Registry) -> Write:
        if found.schema.type == "AVRO":
            return _avro_writer(found.schema, registry)
        if found.schema.type == "PROTOBUF":
            return _protobuf_writer(found.id, registry)
        from barnabas.client.serde.registry.json_schema.format import JsonSchemaFormat

        return JsonSchemaFormat(None).writer(found, value, registry)

    def reader(self, key: SchemaKey, registry: Registry) -> Read:
        schema = registry.schema(key)
        if schema.type == "JSON":
            return _json_text
        if schema.type == "AVRO":
            from barnabas.client.serde.registry.avro.format import AvroFormat

            read = AvroFormat(None).reader(key, registry)
            return lambda data, start: _encode(read(data, start))
        from google.protobuf.json_format import MessageToDict

        from barnabas.client.serde.registry.protobuf.format import ProtobufFormat
        from barnabas.client.serde.registry.protobuf.numbers import with_numbers

        parse, defaults = ProtobufFormat(None).reader(key, registry), self._defaults

        def as_json(data: bytes, start: int) -> bytes:
            message = parse(data, start)
            told = MessageToDict(
                message, preserving_proto_field_name=True, always_print_fields_with_no_presence=defaults
            )
            return _encode(with_numbers(told, message.DESCRIPTOR))

        return as_json


def _json_text(data: bytes, start: int) -> bytes:
    text = data[start:]
    _check(text)
    return text


def _avro_writer(schema: Schema, registry: Registry) -> Write:
    import fastavro

    from barnabas.client.serde.registry.avro.format import is_bytes
    from barnabas.client.serde.registry.avro.from_json import JsonToAvro
    from barnabas.client.serde.registry.avro.parsing import parse

    parsed = parse(schema, registry)
    convert = JsonToAvro(parsed).convert
    plain_bytes = is_bytes(parsed)

    def to_bytes(value: Value) -> bytes:
        if plain_bytes:
            plain: bytes = convert(value)
            return plain
        out = io.BytesIO()
        fastavro.schemaless_writer(out, parsed, convert(value))
        return out.getvalue()

    return to_bytes


def _protobuf_writer(schema_id: int, registry: Registry) -> Write:
    from google.protobuf.json_format import ParseDict, ParseError

    from barnabas.client.serde.registry.protobuf.files import messages_of

    message = messages_of(schema_id, registry)((0,))

    def to_bytes(value: Value) -> bytes:
        if not isinstance(value, dict):
            raise ValueError(f"an object ({message.DESCRIPTOR.full_name}) is wanted, not {json.dumps(value)[:60]}")
        try:
            data: bytes = ParseDict(value, message()).SerializeToString()
        except ParseError as error:
            raise ValueError(str(error)) from None
        return data

    return to_bytes
