"""The JSON Schema that columns have, and rows as JSON. A column that is null is left out of its row.

Times are ISO 8601 texts in UTC, bytes base64. The schema is closed (additionalProperties false): in an open one a
registry refuses every property that is added.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, date, datetime

import msgspec
from pyspark.sql import types

from barnabas.model.json_values import Json
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.client import registry_client
from barnabas.pipelines.registry.options import RegistryOptions
from barnabas.pipelines.sink.values.same import same_type
from barnabas.pipelines.source.values.json_schema import columns_of

_PLAIN: dict[str, Json] = {
    "boolean": {"type": "boolean"},
    "byte": {"type": "integer"},
    "short": {"type": "integer"},
    "integer": {"type": "integer"},
    "long": {"type": "integer"},
    "float": {"type": "number"},
    "double": {"type": "number"},
    "decimal": {"type": "number"},
    "string": {"type": "string"},
    "binary": {"type": "string", "contentEncoding": "base64"},
    "date": {"type": "string", "format": "date"},
    "timestamp": {"type": "string", "format": "date-time"},
    "timestamp_ntz": {"type": "string", "format": "date-time"},
}
_DRAFT = "http://json-schema.org/draft-07/schema#"


def json_schema(kind: types.StructType, subject: str, latest: str | None) -> str:
    """Properties of the latest version stay as they are, where they have the same type."""
    old = {} if latest is None else json.loads(latest)
    found = {"$schema": _DRAFT, "title": subject.removesuffix("-value")} | {
        key: each for key, each in old.items() if key in ("$schema", "$id", "title", "description", "definitions")
    }
    made = _type(kind)
    for name, each in old.get("properties", {}).items():
        try:
            before = columns_of({"type": "object", "properties": {name: each}, **_definitions(old)}, {}).fields[0]
        except PipelineError:
            continue  # no column type, so it is not the type of this column either
        if name in kind.names and same_type(before.dataType, kind[name].dataType):
            made["properties"][name] = each
    if isinstance(old.get("additionalProperties"), bool):
        made["additionalProperties"] = old["additionalProperties"]
    return json.dumps({**found, **_definitions(old), **made})


def _definitions(old: Json) -> Json:
    return {name: old[name] for name in ("definitions", "$defs") if name in old}


def _type(kind: types.DataType) -> Json:
    if isinstance(kind, types.StructType):
        properties = {each.name: _type(each.dataType) for each in kind.fields}
        return {"type": "object", "properties": properties, "additionalProperties": False}
    if isinstance(kind, types.ArrayType):
        return {"type": "array", "items": _type(kind.elementType)}
    if isinstance(kind, types.MapType) and isinstance(kind.keyType, types.StringType):
        return {"type": "object", "additionalProperties": _type(kind.valueType)}
    found = _PLAIN.get(kind.typeName())
    if found is None:
        raise PipelineError(f"a column of type {kind.simpleString()} has no type in JSON: cast it")
    return dict(found)


def json_writer(prefix: bytes, checked: tuple[RegistryOptions, int] | None) -> Callable[[Json], bytes]:
    encode = msgspec.json.Encoder(decimal_format="number").encode
    if checked is None:
        return lambda row: prefix + encode(_plain(row))
    from barnabas.client.serde.registry.json_schema.format import validator

    registry = registry_client(checked[0])
    check = validator(registry.schema(checked[1]), registry).validate

    def to_bytes(row: Json) -> bytes:
        data = encode(_plain(row))
        check(msgspec.json.decode(data))
        return prefix + data

    return to_bytes


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
