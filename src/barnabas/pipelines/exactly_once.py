"""Rows of a `foreachBatch` to a topic, exactly once: for `outputMode("update")`, which Spark gives to no Python sink.

    totals.writeStream.outputMode("update").foreachBatch(lambda rows, number: exactly_once(rows, "totals")) ...

The write is named after the query (its id lies in the checkpoint and survives the driver), the topic and the number of
the micro-batch. The sink knows a write that it has done: a micro-batch that Spark runs again writes nothing.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

QUERY_ID_PROPERTY = "sql.streaming.queryId"
BATCH_ID_PROPERTY = "streaming.sql.batchId"


def exactly_once(rows: DataFrame, topic: str, *, bootstrap: str | None = None, **options: str) -> None:
    """Write the rows of a micro-batch (columns key, value, headers, partition) to a topic, each exactly once.

    Call it inside `foreachBatch`, once for each topic. `options` are those of the sink.
    """
    # Not at the top: they load pyarrow, which the console, who asks only what runs, has no other use for (45 MB).
    from barnabas.pipelines.sink.columns import check_schema
    from barnabas.pipelines.sink.options import parse_options

    context = rows.sparkSession.sparkContext
    query, number = context.getLocalProperty(QUERY_ID_PROPERTY), context.getLocalProperty(BATCH_ID_PROPERTY)
    if not query or number is None:
        raise PipelineError(
            "exactly_once belongs inside foreachBatch of a streaming query; for a batch write with"
            " delivery=exactly-once and a queryId of your own"
        )
    where = {} if bootstrap is None else {"kafka.bootstrap.servers": bootstrap}
    which = {"topic": topic, "delivery": "exactly-once", "queryId": write_name(query, topic), "batchId": number}
    given = {**where, **options, **which}
    parse_options(given, streaming=False)  # a mistake is told here, in one line; from the write it comes inside Spark's
    check_schema(rows.schema, topic)
    rows.write.format("barnabas").mode("append").options(**given).save()


def write_name(query: str, topic: str) -> str:
    """Of one query's writes to one topic. A topic's name may be longer than a write's may be, so it is digested."""
    return f"{query}.{hashlib.sha256(topic.encode()).hexdigest()[:16]}"
