"""Records that do not fit a pipeline's schema: kept whole in `<topic>.dead-letter`, with the reason, exactly once.

One query for all topics of a pipeline, at an easy pace beside the fast ones, begun when they are under way. It sorts by
the same schema as `RunContext.stream`, so a record is in the pipeline's stream or in its dead letters, never in both
and never in neither. The headers of a dead letter say where it came from: `barnabas consume orders.dead-letter
--headers` shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.pipelines.framework import decoding, realtime
from barnabas.pipelines.framework.context import AT_LEISURE, DEAD_LETTERS
from barnabas.pipelines.framework.pipeline import DEAD_LETTER

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from barnabas.pipelines.framework.context import RunContext
    from barnabas.pipelines.framework.expected import Expected

QUERY = DEAD_LETTERS
EVERY = "10 seconds"
PLACE_HEADERS = ("topic", "partition", "offset")


def start(context: RunContext) -> None:
    """Start the query; nothing to do for a pipeline that reads no topic with a schema."""
    expected = {context.topic(topic.name): topic.expected for topic in context.pipeline.reads if topic.streamed}
    sorted_out = {name: rules for name, rules in expected.items() if rules is not None}
    if not sorted_out:
        return
    every = realtime.BESIDE if context.realtime else EVERY
    before = next(reversed([*context.queries, *context.waiting]), None)  # one after the other: all need cores to begin
    if before is None:
        context.start(_writer(context, sorted_out), QUERY, every)
    else:
        context.start_after(before, lambda: _writer(context, sorted_out), QUERY, every)


def _writer(context: RunContext, expected: dict[str, Expected]) -> DataStreamWriter:
    from pyspark.sql import functions as f

    options = {"subscribe": ",".join(expected), "kafka.group.id": f"{context.pipeline.name}.{QUERY}"}
    records = context.raw_stream(next(iter(expected)), **options, **AT_LEISURE)
    letters = decoding.bad(records, expected).select(
        f.concat(f.col("topic"), f.lit(DEAD_LETTER)).alias("topic"),
        "key",
        "value",
        f.array(_header("error", "error"), *[_header(name, name) for name in PLACE_HEADERS]).alias("headers"),
    )
    return letters.writeStream.format("barnabas").outputMode("append").options(**context.writing())


def _header(name: str, column: str) -> Column:
    from pyspark.sql import functions as f

    return f.struct(f.lit(name).alias("key"), f.col(column).cast("string").cast("binary").alias("value"))
