"""The fields of a schema: Avro, JSON Schema, Protobuf.

The types are those of the values that values/registry.py decodes, in which times, decimals and bytes are texts: a type
is only named here if each text that the schema allows can be read as it. A field of which the schema says nothing is
left out, and its column comes from its values.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from barnabas.client.errors import BarnabasError
from barnabas.client.serde.registry.framing import SchemaKey
from barnabas.client.serde.registry.registry import Registry
from barnabas.connect.contract import Value
from barnabas.connect.shapes import FIELDS_MAX, NO_FIELDS, WHOLE, Field, FieldType, Shape

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

_REFERENCES_MAX = 20  # $ref to $ref ...


def fields_of(registry: Registry, key: SchemaKey, message: tuple[int, ...] = ()) -> Shape:
    """Of the schema of a record; `message` are Protobuf's indexes. One that is of a single value has it under the name
    WHOLE. A schema that cannot be read has no fields: the record's own decoder says what is wrong with it."""
    try:
        schema = registry.schema(key)
        if schema.type == "AVRO":
            from barnabas.client.serde.registry.avro.parsing import parse

            return _avro(parse(schema, registry))
        if schema.type == "JSON":
            return _json_schema(json.loads(schema.text))
        from barnabas.client.serde.registry.protobuf.files import messages_of

        return _protobuf(messages_of(key, registry)(message or (0,)).DESCRIPTOR)
    except (BarnabasError, ValueError, RecursionError):
        return NO_FIELDS


# --- Avro -------------------------------------------------------------------------------------------------------------

_AVRO = {
    "boolean": FieldType.BOOLEAN,
    "int": FieldType.INT32,
    "long": FieldType.INT64,
    "float": FieldType.FLOAT64,  # a later version may make it a double
    "double": FieldType.FLOAT64,
    "string": FieldType.TEXT,
    "enum": FieldType.TEXT,
    "bytes": FieldType.BYTES,
    "fixed": FieldType.BYTES,
    "record": FieldType.JSON,
    "error": FieldType.JSON,
    "array": FieldType.JSON,
    "map": FieldType.JSON,
}
_AVRO_LOGICAL = {
    "int-date": FieldType.DATE,
    "int-time-millis": FieldType.TIME,
    "long-time-micros": FieldType.TIME,
    "long-timestamp-millis": FieldType.TIMESTAMPTZ,
    "long-timestamp-micros": FieldType.TIMESTAMPTZ,
    "long-local-timestamp-millis": FieldType.TIMESTAMP,
    "long-local-timestamp-micros": FieldType.TIMESTAMP,
    "string-uuid": FieldType.UUID,
    "fixed-uuid": FieldType.UUID,
}


def _avro(parsed: Value) -> Shape:
    named: dict[str, Value] = {}
    if isinstance(parsed, dict) and parsed.get("type") in ("record", "error"):
        _note_names(parsed, named)
        found = ((each["name"], _avro_field(each["type"], named)) for each in parsed["fields"][:FIELDS_MAX])
        return {name: field for name, field in found if field is not None}
    whole = _avro_field(parsed, named)
    return {WHOLE: whole} if whole is not None else NO_FIELDS


def _note_names(schema: Value, named: dict[str, Value]) -> None:
    if isinstance(schema, list):
        for each in schema:
            _note_names(each, named)
    elif isinstance(schema, dict):
        if "name" in schema:
            named.setdefault(schema["name"], schema)
        for word in ("type", "items", "values"):
            _note_names(schema.get(word), named)
        for each in schema.get("fields", ()):
            _note_names(each["type"], named)


def _avro_field(schema: Value, named: dict[str, Value]) -> Field | None:
    if isinstance(schema, list):
        kinds = [each for each in schema if each != "null"]
        found = {_avro_field(each, named) for each in kinds}
        if len(found) == 1:
            return found.pop()
        numbers = {each.type for each in found if each is not None}
        if numbers == {FieldType.INT32, FieldType.INT64}:
            return Field(FieldType.INT64)
        return Field(FieldType.JSON) if found else None
    if isinstance(schema, str):
        if schema in named:
            return _avro_field(named[schema], named)
        return Field(_AVRO[schema]) if schema in _AVRO else None
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return _avro_field(kind, named)
    logical = schema.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return Field(FieldType.DECIMAL, int(schema.get("precision", 0)), int(schema.get("scale", 0)))
    found_type = _AVRO_LOGICAL.get(f"{kind}-{logical}") or _AVRO.get(kind)
    return Field(found_type) if found_type is not None else None


# --- JSON Schema ------------------------------------------------------------------------------------------------------

_JSON = {
    "boolean": FieldType.BOOLEAN,
    "integer": FieldType.INT64,
    "number": FieldType.FLOAT64,
    "string": FieldType.TEXT,
    "object": FieldType.JSON,
    "array": FieldType.JSON,
}
_JSON_FORMATS = {"date": FieldType.DATE, "date-time": FieldType.TIMESTAMPTZ, "uuid": FieldType.UUID}


def _json_schema(root: Value) -> Shape:
    top = _followed(root, root)
    if not isinstance(top, dict):
        return NO_FIELDS
    properties = top.get("properties")
    if isinstance(properties, dict):
        found = ((name, _json_field(each, root)) for name, each in list(properties.items())[:FIELDS_MAX])
        return {name: field for name, field in found if field is not None}
    whole = _json_field(top, root)
    return {WHOLE: whole} if whole is not None else NO_FIELDS


def _followed(schema: Value, root: Value) -> Value:
    """What a `$ref` within the schema leads to; None where it leads elsewhere."""
    for _ in range(_REFERENCES_MAX):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        place = schema["$ref"]
        if not isinstance(place, str) or not place.startswith("#"):
            return None
        schema = root
        for name in place[1:].strip("/").split("/"):
            if name:
                schema = schema.get(name.replace("~1", "/").replace("~0", "~")) if isinstance(schema, dict) else None
    return None


def _json_field(schema: Value, root: Value) -> Field | None:
    schema = _followed(schema, root)
    if not isinstance(schema, dict):
        return None
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            return _one_of([_json_field(each, root) for each in schema[word] if each != {"type": "null"}])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _one_of([_json_field({**schema, "type": each}, root) for each in kind if each != "null"])
    if kind == "string" and schema.get("contentEncoding") == "base64":
        return Field(FieldType.BYTES)
    if kind == "string" and schema.get("format") in _JSON_FORMATS:
        return Field(_JSON_FORMATS[schema["format"]])
    if kind is None and isinstance(schema.get("enum"), list) and all(isinstance(each, str) for each in schema["enum"]):
        return Field(FieldType.TEXT)
    return Field(_JSON[kind]) if kind in _JSON else None


def _one_of(fields: list[Field | None]) -> Field | None:
    """One that takes each of them; None: it is not said what one of them is."""
    if not fields or None in fields:
        return None
    kinds = {each.type for each in fields if each is not None}
    if len(kinds) == 1:
        return fields[0]
    if kinds <= {FieldType.INT64, FieldType.FLOAT64}:
        return Field(FieldType.FLOAT64)
    if kinds <= {FieldType.TEXT, FieldType.DATE, FieldType.TIMESTAMPTZ, FieldType.UUID}:
        return Field(FieldType.TEXT)
    return Field(FieldType.JSON)


# --- Protobuf ---------------------------------------------------------------------------------------------------------

_PROTOBUF = {
    1: FieldType.FLOAT64,  # double
    2: FieldType.FLOAT64,  # float
    3: FieldType.INT64,  # int64
    4: FieldType.UINT64,  # uint64
    5: FieldType.INT32,  # int32
    6: FieldType.UINT64,  # fixed64
    7: FieldType.INT64,  # fixed32
    8: FieldType.BOOLEAN,  # bool
    9: FieldType.TEXT,  # string
    12: FieldType.BYTES,  # bytes
    13: FieldType.INT64,  # uint32
    14: FieldType.TEXT,  # enum
    15: FieldType.INT32,  # sfixed32
    16: FieldType.INT64,  # sfixed64
    17: FieldType.INT32,  # sint32
    18: FieldType.INT64,  # sint64
}
# Messages that are one value in JSON. A Duration is a text such as 1.5s.
_WELL_KNOWN = {
    "google.protobuf.Timestamp": FieldType.TIMESTAMPTZ,
    "google.protobuf.Duration": FieldType.TEXT,
    "google.protobuf.FieldMask": FieldType.TEXT,
}
_WRAPPERS = "google.protobuf."


def _protobuf(message: Descriptor) -> Shape:
    return {each.name: _protobuf_field(each) for each in list(message.fields)[:FIELDS_MAX]}


def _protobuf_field(field: FieldDescriptor) -> Field:
    of = field.message_type
    if field.is_repeated or (of is None and field.type not in _PROTOBUF):
        return Field(FieldType.JSON)
    if of is None:
        return Field(_PROTOBUF[field.type])
    if of.full_name in _WELL_KNOWN:
        return Field(_WELL_KNOWN[of.full_name])
    if of.full_name.startswith(_WRAPPERS) and of.full_name.endswith("Value") and "value" in of.fields_by_name:
        return _protobuf_field(of.fields_by_name["value"])
    return Field(FieldType.JSON)
