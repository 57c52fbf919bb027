"""The columns of a table over time: new ones may come, none may change its type."""

from __future__ import annotations

import json

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from barnabas.pipelines.errors import PipelineError

_SIMPLE = (
    BinaryType, BooleanType, ByteType, DateType, DecimalType, DoubleType, FloatType, IntegerType, LongType, ShortType,
    StringType, TimestampType,
)  # fmt: skip


def merged(known: StructType | None, wanted: StructType) -> StructType:
    """The known columns, then those that are new. All may be null: older files do not have the newer ones."""
    for field in wanted.fields:
        _check(field.name, field.dataType)
    fields = [StructField(field.name, field.dataType) for field in (known.fields if known is not None else [])]
    types = {field.name: field.dataType for field in fields}
    for field in wanted.fields:
        if field.name not in types:
            fields.append(StructField(field.name, field.dataType))
        elif types[field.name] != field.dataType:
            raise PipelineError(
                f"column {field.name!r} is {types[field.name].simpleString()} in the table and would become "
                f"{field.dataType.simpleString()}. Give the new one another name"
            )
    return StructType(fields)


def to_text(schema: StructType) -> str:
    return str(schema.json())


def from_text(text: str) -> StructType:
    return StructType.fromJson(json.loads(text))


def _check(name: str, kind: object) -> None:
    if isinstance(kind, ArrayType):
        _check(name, kind.elementType)
    elif isinstance(kind, MapType):
        _check(name, kind.keyType)
        _check(name, kind.valueType)
    elif isinstance(kind, StructType):
        for field in kind.fields:
            _check(f"{name}.{field.name}", field.dataType)
    elif not isinstance(kind, _SIMPLE):
        shown = kind.simpleString() if isinstance(kind, DataType) else str(kind)
        raise PipelineError(f"column {name!r} is {shown}, which the table cannot hold. Cast it, such as to STRING")
