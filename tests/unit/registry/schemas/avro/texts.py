"""Short ways to write Avro's types."""

from __future__ import annotations

import json
from typing import Any

from barnabas.registry.schemas.avro import AvroSchema, parse


def record(name: str, *fields: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **others}


def field(name: str, type: Any, **others: Any) -> dict[str, Any]:
    return {"name": name, "type": type, **others}


def enum(name: str, *symbols: str, **others: Any) -> dict[str, Any]:
    return {"type": "enum", "name": name, "symbols": list(symbols), **others}


def fixed(name: str, size: int, **others: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": name, "size": size, **others}


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def map_of(values: Any) -> dict[str, Any]:
    return {"type": "map", "values": values}


def parsed(value: Any, stored: bool = False) -> AvroSchema:
    return parse(json.dumps(value), stored=stored)
