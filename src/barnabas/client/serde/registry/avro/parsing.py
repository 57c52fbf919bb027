"""Schemas as fastavro takes them, with defaults as Python has them.

fastavro hands out a default as it stands in the schema's JSON: a text for bytes, a number for a time, and the same list
for every record. So defaults are made values here, and whoever reads with ones that can be changed copies them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fastavro
from fastavro.read import LOGICAL_READERS
from fastavro.repository.base import AbstractSchemaRepository
from fastavro.schema import load_schema

from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.schema import Schema
from barnabas.client.serde.serializers import Value

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry

_ROOT = "$root"  # no name of Avro


class _Named(AbstractSchemaRepository):
    def __init__(self, schemas: dict[str, Value]) -> None:
        self._schemas = schemas

    def load(self, name: str) -> Value:
        return self._schemas.get(name)


def parse(schema: Schema, registry: Registry | None) -> Value:
    """What the schema names is put in its place, for a schema may be nothing but a union of names."""
    try:
        if not schema.references or registry is None:
            parsed = fastavro.parse_schema(json.loads(schema.text))
        else:
            named = {name: json.loads(each.text) for name, each in registry.references(schema)}
            parsed = load_schema(_ROOT, repo=_Named({**named, _ROOT: json.loads(schema.text)}))
        _Defaults(parsed).settle()
    except (fastavro.schema.SchemaParseException, ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadSetting(f"not an Avro schema: {error or type(error).__name__}") from None
    return parsed


def has_containers(parsed: Value) -> bool:
    """Whether a default is a list or a dict."""
    return any(isinstance(each["default"], (list, dict)) for each in _Defaults(parsed).fields if "default" in each)


class _Defaults:
    def __init__(self, parsed: Value) -> None:
        self._named: dict[str, Value] = {}
        self.fields: list[dict[str, Value]] = []
        seen: set[int] = set()
        waiting = [parsed]
        if isinstance(parsed, dict):
            waiting += parsed.get("__named_schemas", {}).values()
        while waiting:
            schema = waiting.pop()
            if isinstance(schema, list):
                waiting += schema
            elif isinstance(schema, dict) and id(schema) not in seen:
                seen.add(id(schema))
                if "name" in schema:
                    self._named.setdefault(schema["name"], schema)
                waiting += [schema[word] for word in ("type", "items", "values") if word in schema]
                for field in schema.get("fields", ()):
                    if id(field) not in seen:
                        seen.add(id(field))
                        self.fields.append(field)
                        waiting.append(field["type"])

    def settle(self) -> None:
        for field in self.fields:
            if "default" in field:
                field["default"] = self._value(field["type"], field["default"])

    def _value(self, schema: Value, default: Value) -> Value:
        if isinstance(schema, list):
            return self._value(schema[0], default) if default is not None else None
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        kind = schema["type"]
        if isinstance(kind, (dict, list)):
            return self._value(kind, default)
        if kind == "array" and isinstance(default, list):
            return [self._value(schema["items"], each) for each in default]
        if kind == "map" and isinstance(default, dict):
            return {name: self._value(schema["values"], each) for name, each in default.items()}
        if kind in ("record", "error") and isinstance(default, dict):
            known = {each["name"]: each for each in schema["fields"]}
            return {
                name: self._value(each["type"], default[name]) if name in default else each.get("default")
                for name, each in known.items()
            }
        if kind in ("bytes", "fixed") and isinstance(default, str):
            default = default.encode("latin-1")
        read = LOGICAL_READERS.get(f"{kind}-{schema.get('logicalType')}")
        is_raw = isinstance(default, (bytes, str, int)) and not isinstance(default, bool)
        return read(default, schema, schema) if read is not None and is_raw else default
