"""A pipeline on the tests' node and Spark, with topics of its own.

`now` reads what is there and returns, in batches of so many records where a test asks for that: events that are late
then really come in a later batch. A second `now` is a new query on the old checkpoint.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.errors import StreamingQueryException

from barnabas import Admin, Consumer
from barnabas.client.consumer.message import Message
from barnabas.pipelines.common.state import SETTINGS
from barnabas.pipelines.framework import Outcome, Pipeline, Record, RunContext
from barnabas.pipelines.framework.records import write
from tests.spark.drivers import BUSY_TIMES, SLOW_START

END_S = 240

_numbers = itertools.count(1)


# For a few thousand rows it costs more to make and compile code than to run without.
QUICK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


@pytest.fixture
def quick_spark(spark: Any) -> Iterator[Any]:
    """The tests' Spark with settings for small data, for the length of a test."""
    before = {name: spark.conf.get(name, None) for name in (*QUICK, *SETTINGS)}
    for name, value in QUICK.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@dataclass
class SteppedContext(RunContext):
    step: int | None = None

    def raw_stream(self, name: str, **options: Any) -> Any:
        step = {"maxOffsetsPerTrigger": str(self.step)} if self.step else {}
        return super().raw_stream(name, **step, **options)


class Stage:
    def __init__(self, pipeline: Pipeline, spark: Any, bootstrap: str, folder: Path, partitions: int = 3) -> None:
        self.pipeline, self.spark, self.bootstrap, self.folder = pipeline, spark, bootstrap, folder
        number = next(_numbers)
        self.topics = {each.name: f"{each.name}-{number}" for each in (*pipeline.reads, *pipeline.writes)}
        with Admin(bootstrap) as admin:
            for each in (*pipeline.reads, *pipeline.writes):
                count = min(partitions, each.partitions)
                kept = {"retention.ms": -1, **each.configs}  # the records of tests are of a fixed day long ago
                admin.create_topic(self.topics[each.name], partitions=count, configs=kept)

    def write(self, records: Iterable[Record]) -> int:
        return write(self.bootstrap, records, self.topics.__getitem__)

    def context(self, **more: Any) -> RunContext:
        return SteppedContext(self.pipeline, self.spark, self.bootstrap, self.folder, topics=self.topics, **more)

    def now(self, **more: Any) -> RunContext:
        """All that is there, then return."""
        context = self.context(once=True, **more)
        self.pipeline.now(context)
        for name in list(context.queries):
            ended(context, name)
        return context

    def later(self, **more: Any) -> Outcome:
        return self.pipeline.later(self.context(**more))

    def messages(self, topic: str) -> list[Message]:
        """What a consumer sees in a topic: committed records only."""
        with Consumer(
            self.topics[topic], bootstrap=self.bootstrap, follow=False, isolation_level="read_committed"
        ) as consumer:
            return list(consumer)

    def values(self, topic: str) -> list[dict[str, Any]]:
        return [msgspec.json.decode(message.value) for message in self.messages(topic)]

    def newest(self, topic: str) -> dict[bytes, dict[str, Any]]:
        """The last value under each key."""
        return {message.key: msgspec.json.decode(message.value) for message in self.messages(topic)}


def ended(context: RunContext, name: str) -> None:
    """Wait for it, and start it again when Spark gave up on a Python worker that was slow to start."""
    for _ in range(BUSY_TIMES):
        query = context.queries[name]
        try:
            assert query.awaitTermination(END_S), f"{query.name} did not end in {END_S} s"
            return
        except StreamingQueryException as error:
            if SLOW_START not in str(error):
                raise
        context.start_again(name)
    raise AssertionError(f"{name}: no Python worker came up {BUSY_TIMES} times")


def dropped_by_watermark(context: RunContext) -> int:
    """Rows that Spark threw away as late: our own rule of lateness must have left none to it."""
    return sum(
        operator["numRowsDroppedByWatermark"]
        for query in context.queries.values()
        for progress in query.recentProgress
        for operator in progress["stateOperators"]
    )
