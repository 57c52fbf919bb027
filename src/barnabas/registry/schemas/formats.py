"""The formats by name. A format's code is loaded when its first schema comes: most registries have one format."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.registry.schemas.parsed import InvalidSchema, ParsedSchema, ReferencedSchema, SchemaType

SCHEMA_TYPES: tuple[SchemaType, ...] = ("JSON", "PROTOBUF", "AVRO")


def parse(
    type: SchemaType, text: str, references: Sequence[ReferencedSchema] = (), *, stored: bool = False
) -> ParsedSchema:
    """The schema that `text` describes; InvalidSchema where it describes none. `stored`: the registry has it already,
    so what only a new schema has to keep to (defaults that fit their type in Avro) is not asked of it."""
    match type:
        case "AVRO":
            from barnabas.registry.schemas import avro

            return avro.parse(text, references, stored=stored)
        case "JSON":
            from barnabas.registry.schemas import json_schema

            return json_schema.parse(text, references, stored=stored)
        case "PROTOBUF":
            from barnabas.registry.schemas import protobuf

            return protobuf.parse(text, references, stored=stored)
    raise InvalidSchema(f"there are no schemas of type {type}")
