"""JSON with a schema of its own in a registry. Reading needs no schema, so it makes no request.

Schemas of classes are closed (additionalProperties false), as Java's serializer makes them: in an open one a reader
cannot know that an added property was never something else, so a registry would refuse every new field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.framing import SchemaKey
from barnabas.client.serde.registry.models import kind_of
from barnabas.client.serde.registry.schema import Registered, Schema, SchemaType
from barnabas.client.serde.registry.serializer import Publish, Read, Write
from barnabas.client.serde.registry.texts import text_of
from barnabas.client.serde.serializers import Value

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry

JsonSource = type[Value] | Mapping[str, object] | str | Path
DRAFT = "https://json-schema.org/draft/2020-12/schema"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class JsonSchemaFormat:
    schema_type: SchemaType = "JSON"

    def __init__(self, source: JsonSource | None, validate: bool = True) -> None:
        self._validate = validate
        self._model = source if kind_of(source) is not None else None
        self._given = None if source is None else Schema("JSON", _text(source))
        self._schemas: dict[type, Schema] = {}
        if self._given is not None:
            _parsed(self._given)

    def kind_of(self, value: Value) -> object:
        return None if self._given is not None else type(value)

    def name_of(self, value: Value, schema: Schema | None) -> str:
        told = self._schema(value) or schema
        parsed = None if told is None else _parsed(told)
        title = parsed.get("title") if isinstance(parsed, dict) else None
        return title if isinstance(title, str) else ""

    def schema_of(self, value: Value, publish: Publish) -> Schema | None:
        return self._schema(value)

    def message_of(self, found: Registered, value: Value) -> bytes:
        return b""

    def writer(self, found: Registered, value: Value, registry: Registry) -> Write:
        encode = _encode_pydantic if kind_of(type(value)) == "pydantic" else _encode
        if not self._validate:
            return encode
        from jsonschema_rs import ValidationError

        check = validator(found.schema, registry).validate

        def to_bytes(value: Value) -> bytes:
            data = encode(value)
            try:
                check(_decode(data))
            except ValidationError as error:  # its own text has four lines
                place = "".join(f".{each}" for each in error.instance_path)
                raise ValueError(f"{place}: {error.message}" if place else error.message) from None
            return data

        return to_bytes

    def reader(self, key: SchemaKey, registry: Registry) -> Read:
        model: Value = self._model
        if kind_of(model) == "pydantic":
            parse = model.model_validate_json
        else:
            parse = _decode if model is None else msgspec.json.Decoder(model).decode
        return lambda data, start: parse(data[start:])

    def _schema(self, value: Value) -> Schema | None:
        if self._given is not None:
            return self._given
        kind = type(value)
        if kind not in self._schemas and kind_of(kind) is not None:
            self._schemas[kind] = Schema("JSON", _text(kind))
        return self._schemas.get(kind)


def validator(schema: Schema, registry: Registry) -> Value:
    """Of jsonschema-rs; what the schema refers to comes from the registry only."""
    import jsonschema_rs

    named = {name: _parsed(each) for name, each in registry.references(schema)} if schema.references else {}

    def found(uri: str) -> Value:
        for name, each in named.items():
            if uri == name or uri.rpartition("/")[2] == name or uri.endswith(f"/{name}"):
                return each
        raise ValueError(f"the schema refers to {uri}, and has no such reference")

    try:
        return jsonschema_rs.validator_for(_parsed(schema), retriever=found)
    except (ValueError, jsonschema_rs.ValidationError) as error:
        reason = str(error).partition("\n")[0]
        raise BadSetting(f"not a JSON Schema: {reason}") from None


def _encode_pydantic(value: Value) -> bytes:
    text: str = value.model_dump_json(by_alias=True)
    return text.encode()


def _parsed(schema: Schema) -> Value:
    try:
        return json.loads(schema.text)
    except (ValueError, RecursionError) as error:
        raise BadSetting(f"not a JSON Schema: {error}") from None


def _text(source: JsonSource) -> str:
    if kind_of(source) is None:
        return text_of(source, "JSON")
    model: Value = source
    try:
        made = model.model_json_schema() if kind_of(model) == "pydantic" else _of_msgspec(model)
    except TypeError as error:
        raise BadSetting(f"there is no JSON Schema for {model.__name__}: {error}") from None
    _close(made)
    return json.dumps({"$schema": DRAFT, "title": model.__name__, **made}, separators=(",", ":"), ensure_ascii=False)


def _of_msgspec(model: type[Value]) -> dict[str, Value]:
    """The class itself on top, and what it names in $defs; itself too, where it is named there again."""
    (top,), named = msgspec.json.schema_components([model], ref_template="#/$defs/{name}")
    name = str(top.get("$ref", "")).rpartition("/")[2]
    if name not in named:
        return top
    body = named[name]
    rest = {key: each for key, each in named.items() if key != name}
    if f'"#/$defs/{name}"' in json.dumps([body, rest]):
        rest[name] = json.loads(json.dumps(body))
    return {**body, "$defs": rest} if rest else dict(body)


def _close(schema: Value) -> None:
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            schema.setdefault("additionalProperties", False)
        for each in schema.values():
            _close(each)
    elif isinstance(schema, list):
        for each in schema:
            _close(each)
