"""The Avro schema that columns have, and rows by fastavro. A column may be null, so its type is a union with null."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable

from pyspark.sql import types

from barnabas.model.json_values import Json, JsonObject
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.values.same import same_type
from barnabas.pipelines.source.values.avro import avro_type

_PLAIN = {
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
}
_LOGICAL = {
    "date": ("int", "date"),
    "timestamp": ("long", "timestamp-micros"),
    "timestamp_ntz": ("long", "local-timestamp-micros"),
}
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


def avro_schema(kind: types.StructType, subject: str, latest: str | None) -> str:
    """Fields of the latest version that have the same type stay as they are, and its name stays."""
    old: JsonObject = {} if latest is None else json.loads(latest)
    name = str(old.get("name") or avro_name(subject.removesuffix("-value")))
    known = {}
    if old.get("type") == "record":
        columns = {each.name: each.dataType for each in avro_type(json.dumps(old)).fields}
        known = {each["name"]: (columns[each["name"]], each) for each in old["fields"]}
    found: JsonObject = {key: each for key, each in old.items() if key in ("namespace", "doc")}
    found |= {"type": "record", "name": name, "fields": _fields(kind, name, known)}
    return json.dumps(found)


def avro_name(text: str) -> str:
    name = _NOT_IN_NAMES.sub("_", text) or "Value"
    return f"_{name}" if name[0].isdigit() else name


def _fields(kind: types.StructType, name: str, known: dict[str, tuple[types.DataType, Json]]) -> list[Json]:
    found = []
    for each in kind.fields:
        if _NOT_IN_NAMES.search(each.name) or each.name[0].isdigit():
            raise PipelineError(f"column {each.name!r} cannot be a field of Avro: letters, digits and _ only")
        before = known.get(each.name)
        if before is not None and same_type(before[0], each.dataType):
            found.append(before[1])
        else:
            of = _type(each.dataType, f"{name.rpartition('.')[2]}_{each.name}")
            found.append({"name": each.name, "type": ["null", of], "default": None})
    return found


def _type(kind: types.DataType, name: str) -> Json:
    if isinstance(kind, types.StructType):
        return {"type": "record", "name": avro_name(name), "fields": _fields(kind, name, {})}
    if isinstance(kind, types.ArrayType):
        return {"type": "array", "items": ["null", _type(kind.elementType, f"{name}_item")]}
    if isinstance(kind, types.MapType) and isinstance(kind.keyType, types.StringType):
        return {"type": "map", "values": ["null", _type(kind.valueType, f"{name}_value")]}
    if isinstance(kind, types.DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    word = kind.typeName()
    if word in _LOGICAL:
        return {"type": _LOGICAL[word][0], "logicalType": _LOGICAL[word][1]}
    if word not in _PLAIN:
        raise PipelineError(f"a column of type {kind.simpleString()} has no type in Avro: cast it")
    return _PLAIN[word]


def avro_writer(text: str, prefix: bytes) -> Callable[[Json], bytes]:
    import fastavro

    schema, write = fastavro.parse_schema(json.loads(text)), fastavro.schemaless_writer

    def to_bytes(row: Json) -> bytes:
        out = io.BytesIO()
        out.write(prefix)
        write(out, schema, row)
        return out.getvalue()

    return to_bytes
