"""Keys and values by the schemas of a registry."""

from __future__ import annotations

from pathlib import Path

from barnabas.client.errors import BarnabasError
from barnabas.client.serde.registry import framing
from barnabas.client.serde.registry.plain import plain_reader, plain_writer, schema_of_file
from barnabas.client.serde.registry.registry import Registry
from barnabas.client.serde.registry.schema import Schema, SchemaType
from barnabas.client.serde.serializers import Part
from barnabas.connect.contract import Headers, Value
from barnabas.connect.definition.definition import Format
from barnabas.connect.errors import BadOption
from barnabas.connect.shapes import Shapes
from barnabas.connect.values.formats import BadValue, Decode, Encode, decode_json, encode_json, registry_problem
from barnabas.connect.values.schema_fields import fields_of

_TYPES: dict[str, SchemaType] = {"avro": "AVRO", "json-schema": "JSON", "protobuf": "PROTOBUF"}


def registry_encoder(format: Format, part: str) -> Encode:
    kind, schema = (format.key, format.key_schema) if part == "key" else (format.value, format.value_schema)
    place: Part = "key" if part == "key" else "value"
    try:
        writer = plain_writer(Registry(format.registry), _schema(schema, _TYPES[kind]))
    except BarnabasError as error:
        raise BadOption(str(error)) from None

    def encode(value: Value, topic: str) -> bytes | None:
        if value is None:
            return None
        try:
            # By JSON and back: a connector's dates, decimals and bytes become what the plain writer takes.
            encoded, _ = writer.encode(decode_json(encode_json(value)), topic, place)
        except BarnabasError as error:
            raise registry_problem(error) from None
        except (ValueError, LookupError) as error:  # the value does not fit the schema
            raise error if isinstance(error, BadValue) else BadValue(str(error)) from None
        return encoded

    return encode


def registry_decoder(format: Format, part: str, shapes: Shapes | None = None) -> Decode:
    place: Part = "key" if part == "key" else "value"
    is_protobuf = (format.key if part == "key" else format.value) == "protobuf"
    try:
        registry = Registry(format.registry)
        reader = plain_reader(registry, defaults=True)
    except BarnabasError as error:
        raise BadOption(str(error)) from None

    def decode(data: bytes | None, topic: str, headers: Headers) -> Value:
        if data is None:
            return None
        try:
            value = decode_json(reader.decode(data, topic, place, list(headers)))
            if shapes is not None and shapes.is_wanted:
                framed = framing.read(data, list(headers), place)
                # Which message of its file it is, Protobuf says in front of the data.
                message = framing.read_indexes(framed.data, framed.start)[0] if is_protobuf else ()
                if shapes.is_new(topic, place, (framed.key, message)):
                    shapes.add(topic, place, fields_of(registry, framed.key, message))
            return value
        except BarnabasError as error:
            raise registry_problem(error) from None
        except (ValueError, LookupError) as error:
            raise error if isinstance(error, BadValue) else BadValue(str(error)) from None

    return decode


def _schema(given: str, type: SchemaType) -> Schema | None:
    if not given:
        return None
    if given.lstrip().startswith(("{", "[", '"', "syntax", "message", "edition")):
        return Schema(type, given)
    return schema_of_file(Path(given).expanduser(), type)
