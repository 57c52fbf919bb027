"""Results that change: the newest value of a key in a topic is the one that holds.

Spark has an output mode for this (update), but gives it to no Python sink. So the batch is written from `foreachBatch`,
with the query's id and the batch's number: the sink then knows a batch that it has written before, and writes each row
exactly once, as in append mode.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from barnabas.pipelines.framework.context import FORMAT
from barnabas.pipelines.framework.decoding import as_json

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.pipelines.framework import RunContext
    from barnabas.pipelines.framework.checkpoints import Checkpoints

_KEY = "_upsert_key"


def upsert(
    context: RunContext,
    frame: DataFrame,
    topic: str,
    query: str,
    key: Column,
    *,
    every: str | None = None,
    mode: str = "update",
) -> StreamingQuery | None:
    """Start a query that writes each changed row under its key."""
    shaped = keyed(frame, key)
    sink = {**context.writing(), "topic": context.topic(topic), "delivery": "exactly-once"}
    checkpoints = context.checkpoints

    def write(batch: DataFrame, number: int) -> None:
        which = {"queryId": query_id(checkpoints, query), "batchId": str(number)}
        batch.write.format(FORMAT).mode("append").options(**sink, **which).save()

    return context.start(shaped.writeStream.outputMode(mode).foreachBatch(write), query, every)


def keyed(frame: DataFrame, key: Column) -> DataFrame:
    """All columns as one JSON value under a key that is none of them."""
    return as_json(frame.withColumn(_KEY, key), _KEY, leave=(_KEY,))


def query_id(checkpoints: Checkpoints, query: str) -> str:
    """Spark's own id of a query: it lies in the checkpoint and is a new one when that is."""
    told = json.loads(checkpoints.read(query, "metadata") or "{}")
    return str(told["id"])
