"""The columns of a read: those of Spark's Kafka connector, in its order.

With `valueFormat` the column `value` makes room for the decoded fields. A user may ask for fewer columns by giving the
reader a schema (`.schema("value BINARY, offset BIGINT")`): Spark does not prune the columns of a Python source by
itself, and what is not asked for is then never made.
"""

from __future__ import annotations

from pyspark.sql import types

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.options import SourceOptions
from barnabas.pipelines.source.values.ddl import refuse_unknown_types, without_not_null
from barnabas.pipelines.source.values.settings import BAD_COLUMN, PERMISSIVE, ValueOptions, own_type

_COLUMNS = {
    "key": types.BinaryType(),
    "value": types.BinaryType(),
    "topic": types.StringType(),
    "partition": types.IntegerType(),
    "offset": types.LongType(),
    "timestamp": types.TimestampType(),
    "timestampType": types.IntegerType(),
}
_HEADER = types.StructType(
    [types.StructField("key", types.StringType()), types.StructField("value", types.BinaryType())]
)
_BAD = types.StructType(
    [types.StructField("reason", types.StringType()), types.StructField("value", types.BinaryType())]
)


def record_columns(include_headers: bool, value: ValueOptions | None) -> types.StructType:
    """The columns that are the record's own, without those that a decoded value brings."""
    fields = types.StructType()
    for name, kind in _COLUMNS.items():
        if name != "value" or value is None:
            fields.add(name, kind)
    if include_headers:
        fields.add("headers", types.ArrayType(_HEADER))
    return fields


def schema_of(include_headers: bool, value: ValueOptions | None) -> types.StructType | str:
    """All columns of a read; as DDL for JSON, whose schema only Spark's driver can parse."""
    own = record_columns(include_headers, value)
    if value is None:
        return own
    if value.format == "json":
        return _json_ddl(own, value)
    decoded = own_type(value)
    if value.column is not None:
        own.add(value.column, decoded)
    else:
        for field in decoded.fields:
            own.add(field.name, field.dataType)  # nullable: a tombstone and a bad record have none of them
    if value.mode == PERMISSIVE:
        own.add(BAD_COLUMN, _BAD)
    _refuse_twice(own.names)
    return own


def _json_ddl(own: types.StructType, value: ValueOptions) -> str:
    ddl = str(value.schema)
    if not ddl:
        raise PipelineError("valueFormat json needs valueSchema, such as 'user STRING, amount DOUBLE'")
    refuse_unknown_types(ddl)
    parts = [f"`{field.name}` {field.dataType.simpleString()}" for field in own.fields]
    # A bad record and a tombstone have none of the fields; inside a struct of their own they are null as a whole.
    parts.append(f"`{value.column}` STRUCT<{ddl}>" if value.column is not None else without_not_null(ddl)[0])
    if value.mode == PERMISSIVE:
        parts.append(f"`{BAD_COLUMN}` {_BAD.simpleString()}")
    return ", ".join(parts)


def _refuse_twice(names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise PipelineError(
            f"valueSchema has {', '.join(twice)}, which is a column of the record itself: set valueColumn to a name,"
            " and the value's fields stand in that one column"
        )


def check_wanted(wanted: types.StructType, options: SourceOptions) -> None:
    """A schema of the user's may leave columns out and change their order; for JSON it says the value's fields too."""
    _refuse_twice(wanted.names)
    value = options.value
    known = {field.name: field.dataType for field in record_columns(True, value).fields}
    if value is not None:
        known[BAD_COLUMN] = _BAD
        if value.format != "json":
            decoded = own_type(value)
            known |= {value.column: decoded} if value.column else {each.name: each.dataType for each in decoded.fields}
    for field in wanted.fields:
        if field.name in known:
            if field.dataType != known[field.name]:
                told = f"{known[field.name].simpleString()}, not {field.dataType.simpleString()}"
                raise PipelineError(f"column {field.name} is {told}")
        elif value is None or value.format != "json":
            raise PipelineError(f"format barnabas has no column {field.name!r}: there are {', '.join(known)}")
        elif not field.nullable:
            raise PipelineError(
                f"column {field.name} cannot be NOT NULL in .schema(...), for a bad record and a tombstone have no"
                " value for it: say NOT NULL in valueSchema, where it means that the field must be there"
            )


def value_kind(wanted: types.StructType, value: ValueOptions) -> types.StructType:
    """The type of a decoded value, as far as its columns are wanted."""
    if value.format != "json":
        return types.StructType(own_type(value).fields)
    if value.column is not None:
        held = wanted[value.column].dataType if value.column in wanted.names else types.StructType()
        if not isinstance(held, types.StructType):
            raise PipelineError(f"column {value.column} is a struct of the value's fields")
        return held
    others = {*record_columns(True, value).names, BAD_COLUMN}
    return types.StructType([field for field in wanted.fields if field.name not in others])
