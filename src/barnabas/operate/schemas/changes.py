"""What changed between two versions of a schema, in words: one line for each change, with its path.

Avro and JSON Schema are compared as the JSON they are, Protobuf as the file descriptor that a registry gives
(format=serialized). Whether a change is compatible is the registry's to say, not decided here.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Literal

from barnabas.model.json_values import Json
from barnabas.operate.schemas.avro import avro_changes
from barnabas.operate.schemas.json_schema import json_changes

SchemaType = Literal["AVRO", "JSON", "PROTOBUF"]
_CONTEXT_LINES = 3
CHANGES_MAX = 200  # listed; nobody reads more, and a schema may have a hundred thousand fields


def changes(kind: SchemaType, old: str, new: str) -> list[str]:
    """`old` and `new`: texts of Avro or JSON Schema, or serialized files of Protobuf in base64."""
    if kind == "PROTOBUF":
        from barnabas.operate.schemas.protobuf import protobuf_changes

        found = protobuf_changes(old, new)
    else:
        before, after = _parsed(old), _parsed(new)
        found = avro_changes(before, after) if kind == "AVRO" else json_changes(before, after)
    return found[:CHANGES_MAX] + ([f"and {len(found) - CHANGES_MAX} more"] if len(found) > CHANGES_MAX else [])


def pretty(kind: SchemaType, text: str) -> str:
    """A schema as a person reads it: JSON in lines. Protobuf is in lines already."""
    if kind == "PROTOBUF":
        return text.rstrip()
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def line_by_line(old: tuple[SchemaType, str], new: tuple[SchemaType, str]) -> list[str]:
    """The lines that differ, each with its sign, and a few around them; empty where none differs."""
    before, after = (pretty(*each).split("\n") for each in (old, new))
    return list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT_LINES))[2:]  # two are names of files


def _parsed(text: str) -> Json:
    try:
        found: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return found if isinstance(found, (Mapping, list)) else str(found)
