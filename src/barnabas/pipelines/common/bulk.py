"""A batch over a log of any size in memory of one size.

Spark makes as many parts of a shuffle as there are cores, which is right for small data: sorting a part of many
gigabytes takes many times the memory it has. Here a shuffle begins with many parts, and Spark puts small ones together
when it knows how large they became. And a topic is read in pieces of about the same size, so that all cores have work
until the end, and a piece that fails is soon read again.

JSON is decoded where it is read, a chunk of records at a time (source/values/json.py), by the same rules as
framework/decoding.py has for a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.pipelines.source.values.texts import ISO, WITH_MILLISECONDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.framework import RunContext

PARTS = 256  # of 100 million rows of 100 bytes each part is 40 MB
READ_AT_ONCE = 1_000_000  # records in a task, some seconds of work
READING = {"maxRecordsPerPartition": str(READ_AT_ONCE)}
FIRST_PARTS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"


def decoded(context: RunContext, name: str, earlier_ms: int = 0) -> DataFrame:
    """What `context.batch` gives, for a topic of which no column is named like one of a record."""
    from pyspark.sql import functions as f

    from barnabas.pipelines.framework.decoding import parsed
    from barnabas.pipelines.framework.fitting import event_times

    expected = context.expected(name)
    if any(option.startswith("registry") for option in context.source):
        return context.batch(name, earlier_ms, **READING)  # values of other formats, which come as JSON
    timestamps = WITH_MILLISECONDS if expected.milliseconds else ISO
    value = {"valueFormat": "json", "valueSchema": expected.ddl, "valueMode": "DROPMALFORMED"}
    frame = context.raw_batch(name, earlier_ms, **value, valueTimestamps=timestamps, **READING)
    schema = parsed(expected.ddl)
    for time in event_times(schema, expected):
        ahead = f.unix_millis(time) > f.unix_millis("timestamp") + f.lit(expected.ahead_ms)
        frame = frame.where(~f.coalesce(ahead, f.lit(False)))
    place = [f.col(each).alias(f"_{each}") for each in ("partition", "offset", "timestamp")]
    return frame.select(*schema.names, f.col("key").cast("string").alias("_key"), *place)


@contextmanager
def many_parts(spark: SparkSession) -> Iterator[None]:
    before = spark.conf.get(FIRST_PARTS, None)
    if before is None:
        spark.conf.set(FIRST_PARTS, str(PARTS))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(FIRST_PARTS)
