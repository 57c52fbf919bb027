"""JSON values to columns, and the sorting of records into those that fit a schema and those that do not.

All of it is SQL expressions, so it runs in the JVM, with every trigger. A record is bad when its value is no JSON, when
a field has another type than the schema says, or when a `NOT NULL` field is missing; `bad` says why, for the
dead-letter topic.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

CORRUPT = "_corrupt"
JSON_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


@cache
def parsed(ddl: str) -> StructType:
    """The schema that a DDL string means. Needs a live session, as Spark's own parser reads it."""
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def good(frame: DataFrame, ddl: str) -> DataFrame:
    """The schema's columns and `_key`, `_partition`, `_offset`, `_timestamp`, for the records that fit."""
    from pyspark.sql import functions as f

    schema = parsed(ddl)
    held = _with_made_once(frame, "_value", _value(schema))
    fits = f.col("_value").isNotNull() & f.col(f"_value.{CORRUPT}").isNull()
    for name in _required(schema):
        fits = fits & f.col(f"_value.{name}").isNotNull()
    columns = [f.col(f"_value.{field.name}").alias(field.name) for field in schema.fields]
    return held.where(fits).select(*columns, *_place())


def bad(frame: DataFrame, ddl_of_topic: Mapping[str, str]) -> DataFrame:
    """The records of a raw read that do not fit the schema of their topic, with a column `error` that says why."""
    from pyspark.sql import functions as f

    values = [
        f.when(f.col("topic") == topic, _value(parsed(ddl))).alias(f"v{number}")
        for number, (topic, ddl) in enumerate(ddl_of_topic.items())
    ]
    why = f.lit(None).cast("string")
    for number, (topic, ddl) in enumerate(ddl_of_topic.items()):
        why = f.when(f.col("topic") == topic, _fault(ddl, f"_values.v{number}")).otherwise(why)
    judged = _with_made_once(frame, "_values", f.struct(*values)).withColumn("error", why).drop("_values")
    return judged.where(f.col("error").isNotNull())


def _fault(ddl: str, value: str) -> Column:
    """Why a record whose parsed value is in this column does not fit; null when it does."""
    from pyspark.sql import functions as f

    why: Column = f.when(f.col("value").isNull(), f.lit("the record has no value"))
    is_no_object = f.col(value).isNull() | f.col(f"{value}.{CORRUPT}").isNotNull()
    why = why.when(is_no_object, f.lit(f"the value is no JSON object that fits ({ddl})"))
    required = _required(parsed(ddl))
    missing = f.concat_ws(", ", *[f.when(f.col(f"{value}.{name}").isNull(), f.lit(name)) for name in required])
    return why.when(missing != "", f.concat(f.lit("missing: "), missing))


def as_json(frame: DataFrame, key: str | None = None, leave: tuple[str, ...] = ()) -> DataFrame:
    """All columns as one JSON value, with one of them as the key: what a topic takes. Times are ISO 8601 in UTC."""
    from pyspark.sql import functions as f

    names = [name for name in frame.columns if name not in leave]
    value = f.to_json(f.struct(*names), {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"})
    columns = [value.cast("binary").alias("value")]
    if key is not None:
        columns.insert(0, f.col(key).cast("string").cast("binary").alias("key"))
    return frame.select(*columns)


def _with_made_once(frame: DataFrame, name: str, column: Column) -> DataFrame:
    """With one more column, made by a generator: Spark takes a generator's result as it is. An ordinary column it
    would work out anew for each field that a filter asks of it, and JSON would be parsed ten times."""
    from pyspark.sql import functions as f

    return frame.select("*", f.explode(f.array(column)).alias(name))


def _value(schema: StructType) -> Column:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructField, StructType

    loose = StructType([StructField(field.name, field.dataType) for field in schema.fields])
    loose.add(CORRUPT, StringType())
    return f.from_json(f.col("value").cast("string"), loose, JSON_OPTIONS)


def _required(schema: StructType) -> list[str]:
    return [field.name for field in schema.fields if not field.nullable]


def _place() -> list[Any]:
    from pyspark.sql import functions as f

    return [
        f.col("key").cast("string").alias("_key"),
        f.col("partition").alias("_partition"),
        f.col("offset").alias("_offset"),
        f.col("timestamp").alias("_timestamp"),
    ]
