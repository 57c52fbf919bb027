"""Avro values, read with fastavro by the schema that is given, which must be the writer's.

Types: a union with null is a column that may be null; other unions have no column type and are refused. Enums are
strings, fixed is binary, logical types of date, time of day, timestamp and decimal are what Spark calls them.
"""

from __future__ import annotations

import io
import json

from pyspark.sql import types

from barnabas.model.json_values import Json
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.values.bad import Bad

_PRIMITIVES = {
    "boolean": types.BooleanType(),
    "int": types.IntegerType(),
    "long": types.LongType(),
    "float": types.FloatType(),
    "double": types.DoubleType(),
    "string": types.StringType(),
    "bytes": types.BinaryType(),
    "enum": types.StringType(),
    "fixed": types.BinaryType(),
}
_LOGICAL = {
    "date": types.DateType(),
    "timestamp-millis": types.TimestampType(),
    "timestamp-micros": types.TimestampType(),
    "local-timestamp-millis": types.TimestampNTZType(),
    "local-timestamp-micros": types.TimestampNTZType(),
    "uuid": types.StringType(),
}
_UNSERVED = ("time-millis", "time-micros", "duration")


def parsed_schema(text: str) -> Json:
    import fastavro

    try:
        return fastavro.parse_schema(json.loads(text))
    except Exception as error:
        raise PipelineError(f"valueSchema is not an Avro schema: {error or type(error).__name__}") from None


def avro_type(text: str) -> types.StructType:
    parsed = parsed_schema(text)
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise PipelineError("valueSchema: an Avro record is wanted, for its fields become columns")
    found = _Types().of(json.loads(text), "valueSchema")
    assert isinstance(found, types.StructType)
    return found


class _Types:
    """Named types may be used again by name, also by the short one within their namespace."""

    def __init__(self) -> None:
        self._named: dict[str, types.DataType] = {}
        self._open: list[str] = []

    def of(self, schema: Json, where: str) -> types.DataType:
        if isinstance(schema, list):
            others = [each for each in schema if each != "null"]
            if len(others) != 1:
                raise PipelineError(f"{where}: a union of several types has no column type")
            return self.of(others[0], where)
        if isinstance(schema, str):
            if schema in _PRIMITIVES:
                return _PRIMITIVES[schema]
            return self._known(schema, where)
        kind = schema["type"]
        logical = schema.get("logicalType")
        if logical in _LOGICAL:
            return _LOGICAL[logical]
        if logical == "decimal":
            return types.DecimalType(schema["precision"], schema.get("scale", 0))
        if logical in _UNSERVED:
            raise PipelineError(f"{where}: Spark has no type for {logical}")
        if kind == "array":
            return types.ArrayType(self.of(schema["items"], f"{where}[]"))
        if kind == "map":
            return types.MapType(types.StringType(), self.of(schema["values"], f"{where}{{}}"))
        if kind in ("record", "error"):
            return self._record(schema, where)
        found = self.of(kind, where)
        if kind in ("enum", "fixed"):
            self._named[schema["name"].rpartition(".")[2]] = found
        return found

    def _record(self, schema: Json, where: str) -> types.StructType:
        name = schema["name"].rpartition(".")[2]
        self._open.append(name)
        found = types.StructType()
        for field in schema["fields"]:
            found.add(field["name"], self.of(field["type"], f"{where}.{field['name']}"))
        self._open.pop()
        self._named[name] = found
        return found

    def _known(self, name: str, where: str) -> types.DataType:
        short = name.rpartition(".")[2]
        if short in self._open:
            raise PipelineError(f"{where}: {name} contains itself, and a column's type is finite")
        return self._named[short]


class AvroDecoder:
    def __init__(self, text: str) -> None:
        from barnabas.client.serde.registry.avro.bounds import check_for

        self._schema = parsed_schema(text)
        self._check = check_for(self._schema)

    def decode_one(self, value: bytes) -> object:
        import fastavro

        stream = io.BytesIO(value)
        try:
            if self._check is not None:
                self._check(value, 0)
            found = fastavro.schemaless_reader(stream, self._schema, None)
        except Exception as error:  # fastavro raises whatever the damaged bytes lead to
            raise Bad(f"not Avro of this schema: {error or type(error).__name__}") from None
        if stream.tell() != len(value):
            raise Bad(f"{len(value) - stream.tell()} bytes after the Avro record")
        return found
