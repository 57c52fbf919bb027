"""JSON values to columns, and the sorting of records into those that fit a schema and those that do not.

All of it is SQL expressions, so it runs in the JVM, with every trigger. A record is bad when its value is no JSON, when
a field has another type than the schema says, when a `NOT NULL` field is missing, or when its event time is far after
the record's own timestamp: one such record would move the watermark, and everything after it would be late. `bad` says
why, for the dead-letter topic; `good` only asks whether, which costs less. What is wrong and why is decided in
fitting.py, for both alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from barnabas.pipelines.framework.expected import Expected
from barnabas.pipelines.framework.fitting import CORRUPT, WHY, Rules, both, fits, judged, loose_fields, made

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

JSON_OPTIONS = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, "allowNonNumericNumbers": "false"}
_RECORD = ("key", "partition", "offset", "timestamp")  # what `_place` tells of it
BAD_METRIC = "bad."  # with the topic after it: the observed metric that counts what does not fit


@cache
def parsed(ddl: str) -> StructType:
    """The schema that a DDL string means. Needs a live session, as Spark's own parser reads it."""
    from pyspark.sql.types import StructType

    schema = StructType.fromDDL(ddl)
    assert isinstance(schema, StructType)
    return schema


def good(frame: DataFrame, expected: str | Expected, counted_as: str | None = None) -> DataFrame:
    """The schema's columns and `_key`, `_partition`, `_offset`, `_timestamp`, for the records that fit.

    `counted_as` is a name under which a query's progress tells how many did not.
    """
    from pyspark.sql import functions as f

    wanted = expected if isinstance(expected, Expected) else Expected(expected)
    rules = Rules(parsed(wanted.ddl), wanted)
    held = _with_made_once(frame, "_raw", f.array(_read(rules.schema)))
    raw, fields = f.col("_raw"), made(f.col("_raw"), rules.schema, wanted)
    fit = fits(_text(), raw, fields, f.col("timestamp"), rules)
    columns = {name: f"_made_{place}" for place, name in enumerate(fields)}
    held = held.select(
        *_RECORD, fit.alias("_fits"), *[fields[name].alias(held_as) for name, held_as in columns.items()]
    )
    if counted_as is not None:
        held = held.observe(BAD_METRIC + counted_as, f.count_if(~f.col("_fits")).alias("bad"))
    chosen = [f.col(held_as).alias(name) for name, held_as in columns.items()]
    return held.where("_fits").select(*chosen, *_place())


def bad(frame: DataFrame, expected: Mapping[str, Expected]) -> DataFrame:
    """The records of a raw read that do not fit what their topic expects, with a column `error` that says why.

    Nearly all records fit, so that is asked first, as in `good`; why not is worked out for the others only."""
    from pyspark.sql import functions as f

    def of(topic: str) -> Column:
        return f.col("topic") == topic

    schemas = {topic: parsed(rules.ddl) for topic, rules in expected.items()}
    places = {topic: f"_raw_{place}" for place, topic in enumerate(expected)}
    read = f.struct(*[f.when(of(topic), _read(schemas[topic])).alias(place) for topic, place in places.items()])
    held = _with_made_once(frame, "_raws", f.array(read))
    fit, why = f.lit(True), f.lit(None).cast("string")
    for topic, rules in expected.items():
        raw = f.col("_raws")[places[topic]]
        fields = made(raw, schemas[topic], rules)
        judge = fits(_text(), raw, fields, f.col("timestamp"), Rules(schemas[topic], rules))
        fit = f.when(of(topic), judge).otherwise(fit)
        why = f.when(of(topic), _values(rules)[0][WHY]).otherwise(why)
    wrong = held.where(~fit).drop("_raws")
    return _with_made_once(wrong, "error", f.array(why)).where(f.col("error").isNotNull())


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

    return frame.select("*", f.explode(column).alias(name))


def _values(rules: Expected) -> Column:
    """An array of one: the value, judged. By `transform`, in which what was made has a name and is made once.

    Spark interprets what is inside `transform`. Three generators behind one another, which it compiles, took 0.9 of the
    CPU for four columns and 1.5 for ten (likely because the method grows too large for the JIT compiler).
    """
    from pyspark.sql import functions as f

    schema = parsed(rules.ddl)
    pairs = f.transform(f.array(_read(schema)), lambda raw: both(raw, schema, rules))
    return f.transform(pairs, lambda pair: judged(_text(), pair, f.col("timestamp"), schema, rules))


def _text() -> Column:
    from pyspark.sql import functions as f

    return f.col("value").cast("string")


def _read(schema: StructType) -> Column:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType

    return f.from_json(_text(), loose_fields(schema).add(CORRUPT, StringType()), JSON_OPTIONS)


def _place() -> list[Column]:
    from pyspark.sql import functions as f

    return [
        f.col("key").cast("string").alias("_key"),
        f.col("partition").alias("_partition"),
        f.col("offset").alias("_offset"),
        f.col("timestamp").alias("_timestamp"),
    ]
