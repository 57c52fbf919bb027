"""`value_serializer="avro", registry="http://127.0.0.1:8081", schema=Order`: the short way to the serializers of a
registry. What else they can do is said where they are made: Registry(...).avro(Order, use_latest_version=True)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeVar

from barnabas.client.errors import BadSetting
from barnabas.client.serde.serializers import RecordSerializer, Value

if TYPE_CHECKING:
    from barnabas.client.serde.registry.registry import Registry

RegistryLike: TypeAlias = "Registry | str | dict[str, object] | None"
SchemaLike = Value  # a type, a dict, a text, a path: what the format takes
NAMES = ("avro", "json-schema", "protobuf")

Given = TypeVar("Given")


def with_registry(
    key: Given, value: Given, registry: RegistryLike, key_schema: SchemaLike, schema: SchemaLike, word: str
) -> tuple[Given | RecordSerializer, Given | RecordSerializer]:
    """The serializers of key and value, with those of a registry in place of their names."""
    if key not in NAMES and value not in NAMES:
        for name, given in (("registry", registry), ("schema", schema), ("key_schema", key_schema)):
            if given is not None:
                raise BadSetting(f'{name} goes with value_{word}="avro", "json-schema" or "protobuf", or key_{word}')
        return key, value
    from barnabas.client.serde.registry.registry import registry_of

    made = registry_of(registry)
    return _of(made, key, key_schema, "key_schema"), _of(made, value, schema, "schema")


def _of(registry: Registry, given: Given, schema: SchemaLike, option: str) -> Given | RecordSerializer:
    if given == "avro":
        return registry.avro(schema)
    if given == "json-schema":
        return registry.json_schema(schema)
    if given == "protobuf":
        return registry.protobuf(schema)
    if schema is not None:
        raise BadSetting(f"{option} is given, but what it describes is not written with a registry's schema")
    return given
