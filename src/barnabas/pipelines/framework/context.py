"""What a pipeline is given when it runs: a Spark session, a cluster, a folder, and ready-made ways in and out.

Everything of one pipeline lies in one folder: `checkpoints/` (one for each query), `tables/`, `outbox/`, reports. A
query is started here and nowhere else, so that each has a name, a checkpoint and a trigger: as fast as it can, at a
pace, or once over what is there (`--once`). A stream's progress is committed to the consumer group that has the
pipeline's name, so `barnabas group describe activity` shows its lag.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from barnabas.pipelines.common.state import use_rocksdb
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import decoding
from barnabas.pipelines.framework.beside import Beside
from barnabas.pipelines.framework.checkpoints import FOLDER, Checkpoints, LocalCheckpoints
from barnabas.pipelines.framework.expected import Expected
from barnabas.pipelines.framework.pipeline import DEAD_LETTER, Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

FORMAT = "barnabas"
DEAD_LETTERS = "dead-letters"  # the query of deadletters.py
AT_LEISURE = {"maxPartitions": "1"}  # of a read that may take its time: the other cores are for the fast queries
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
CLOCKS_MS = 60_000  # a sender's clock may be behind, so that a record seems to be sent before its event

# A live query has its first results long before its first batch is done. Queries that wait for it begin after so long:
# until then Java compiles what is hot, and would do it later.
LIVE_BEGINS_S = 12.0

Option: TypeAlias = bool | float | int | str | None  # what Spark takes for one
Reader = TypeVar("Reader", "DataFrameReader", "DataStreamReader")
MakeWriter: TypeAlias = "Callable[[], DataStreamWriter]"


@dataclass
class RunContext:
    """One run of one pipeline."""

    pipeline: Pipeline
    spark: SparkSession
    bootstrap: str
    folder: Path
    begin_ms: int | None = None  # --from and --to: the range of event time that `later` works through
    end_ms: int | None = None
    once: bool = False
    topics: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(
        default_factory=dict
    )  # further options of every read: kafka.security.protocol ...
    queries: dict[str, StreamingQuery] = field(default_factory=dict)
    writers: dict[str, DataStreamWriter] = field(default_factory=dict)  # to start a query again that failed
    waiting: dict[str, str] = field(default_factory=dict)  # queries that begin after another one
    makers: dict[str, MakeWriter] = field(default_factory=dict)  # and that are not even made before
    started: dict[str, float] = field(default_factory=dict)  # when, by the steady clock
    readers: dict[str, set[str]] = field(default_factory=dict)  # by group, the topics that its streams read
    realtime: bool = False  # in Spark's Real-Time Mode: realtime.py
    shuffles: dict[str, int] = field(default_factory=dict)  # queries with a number of shuffle partitions of their own
    beside: dict[str, Beside] = field(default_factory=dict)  # work that is done once, while the queries run
    shared: Checkpoints | None = None  # where the queries' progress lies, when it is not in the folder

    # --- what was asked for ------------------------------------------------------------------------------------------

    def topic(self, name: str) -> str:
        """The topic that stands for this usual name in this run."""
        return renamed(self.topics, name)

    def option(self, name: str) -> str:
        """What `--set name=value` said, else the pipeline's default."""
        for known in self.pipeline.options:
            if known.name == name:
                return self.options.get(name, known.default)
        raise PipelineError(f"the pipeline {self.pipeline.name!r} has no option {name!r}")

    def path(self, *parts: str) -> Path:
        """A place in this pipeline's folder; the folders above it exist when this returns."""
        place = self.folder.joinpath(*parts)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def groups(self) -> dict[str, set[str]]:
        """The groups whose lag is this run's: they read the pipeline's own topics, and not at leisure."""
        inputs = {self.topic(each.name) for each in self.pipeline.reads}
        at_leisure = f"{self.pipeline.name}.{DEAD_LETTERS}"
        return {name: topics for name, topics in self.readers.items() if topics <= inputs and name != at_leisure}

    def spark_ui(self) -> str | None:
        """Where Spark's own pages are; None while spark.ui.enabled is false, which it is unless --conf says so."""
        try:
            address: str | None = self.spark.sparkContext.uiWebUrl
        except Exception:  # a session over Spark Connect has no context, one that is ending has none any more
            return None
        return address

    # --- in ----------------------------------------------------------------------------------------------------------

    def stream(self, name: str, **options: Option) -> DataFrame:
        """The records of a topic that fit its schema, as they come: the schema's columns, and `_key`, `_partition`,
        `_offset`, `_timestamp` of the record."""
        return decoding.good(self.raw_stream(name, **options), self.expected(name), counted_as=self.topic(name))

    def batch(self, name: str, earlier_ms: int = 0, **options: Option) -> DataFrame:
        """The same of what is in the log now, from `begin_ms` on, or from so much earlier.

        There is no upper bound on purpose: a record may be late, so what belongs to the range is told by its event
        time (`within`), not by its place in the log.
        """
        return decoding.good(self.raw_batch(name, earlier_ms, **options), self.expected(name))

    def everything(self, name: str) -> DataFrame:
        """The same of the whole log, whatever range was asked for: for a topic that says how things are."""
        reader = self.spark.read.format(FORMAT).options(**self._reading(name))
        return decoding.good(reader.load(), self.expected(name))

    def raw_stream(self, name: str, **options: Option) -> DataFrame:
        """key, value, headers, topic, partition, offset, timestamp, as in Spark's own Kafka connector."""
        reading = {**self._reading(name), **options}
        self.readers.setdefault(str(reading["kafka.group.id"]), set()).update(str(reading["subscribe"]).split(","))
        reader = self.spark.readStream.format(FORMAT).options(**self._reading(name))
        reader = reader.option("startingOffsets", "earliest")
        frame: DataFrame = self._from(reader).options(**options).load()
        return frame

    def raw_batch(self, name: str, earlier_ms: int = 0, **options: Option) -> DataFrame:
        reader = self.spark.read.format(FORMAT).options(**self._reading(name))
        frame: DataFrame = self._from(reader, earlier_ms + CLOCKS_MS).options(**options).load()
        return frame

    def within(self, frame: DataFrame, column: str) -> DataFrame:
        """Only the rows whose event time lies in the range of this run."""
        from pyspark.sql import functions as f

        if self.begin_ms is not None:
            frame = frame.where(f.col(column) >= f.timestamp_millis(f.lit(self.begin_ms)))
        if self.end_ms is not None:
            frame = frame.where(f.col(column) < f.timestamp_millis(f.lit(self.end_ms)))
        return frame

    # --- out ---------------------------------------------------------------------------------------------------------

    def to_topic(
        self, frame: DataFrame, name: str, query: str, every: str | None = None, mode: str = "append"
    ) -> StreamingQuery:
        """Start a query that writes to a topic, each row exactly once. The columns are those of Spark's connector:
        value, and if there are any key, headers, partition; `as_json` makes them."""
        writer = frame.writeStream.format(FORMAT).outputMode(mode).options(**self.writing())
        return self.start(writer.option("topic", self.topic(name)), query, every)

    def start(
        self, writer: DataStreamWriter, query: str, every: str | None = None, *, fills_table: bool = False
    ) -> StreamingQuery:
        """Give a query its name, its checkpoint and its trigger, and start it. `every` is a pace ("5 seconds").
        `fills_table`: it has no state, and writes into this folder, where its progress then lies as well."""
        self.writers[query] = self._prepared(writer, query, every, fills_table)
        return self.start_again(query)

    def start_after(
        self, before: str, make: MakeWriter, query: str, every: str | None = None, *, fills_table: bool = False
    ) -> None:
        """The same when another query has begun to work: when its first batch is done (of a live one a moment after its
        start), or with --once when it has ended. For a query that reads the other's results, and for one that would
        only make the first result come later. `make` is called then: to make a query takes Spark a second, too."""
        self.makers[query] = lambda: self._prepared(make(), query, every, fills_table)
        self.waiting[query] = before

    def _prepared(self, writer: DataStreamWriter, query: str, every: str | None, fills_table: bool) -> DataStreamWriter:
        place = str(self.checkpoint(query)) if fills_table else self.checkpoints.place(query)
        writer = writer.queryName(self.query_name(query)).option("checkpointLocation", place)
        if self.once:
            return writer.trigger(availableNow=True)
        return writer if every is None else writer.trigger(processingTime=every)

    def is_ready(self, query: str) -> bool:
        """Whether a query that waits for another one may begin."""
        before = self.waiting[query]
        running = self.queries.get(before)
        if running is None:
            return False
        return not running.isActive if self.once else self.has_begun(before)

    def has_begun(self, query: str) -> bool:
        running = self.queries[query]
        if not running.isActive:
            return False
        settled = self.realtime and time.monotonic() - self.started[query] >= LIVE_BEGINS_S
        return settled or running.lastProgress is not None

    def start_again(self, query: str) -> StreamingQuery:
        """The same query, from its checkpoint on."""
        self.waiting.pop(query, None)
        if query in self.makers:
            self.writers[query] = self.makers[query]()
            del self.makers[query]
        use_rocksdb(self.spark)
        usual = self.spark.conf.get(SHUFFLE_PARTITIONS)
        self.spark.conf.set(SHUFFLE_PARTITIONS, str(self.shuffles.get(query, usual)))
        try:
            started = self.queries[query] = self.writers[query].start()
        finally:
            self.spark.conf.set(SHUFFLE_PARTITIONS, str(usual))
        self.started[query] = time.monotonic()
        return started

    def writing(self) -> dict[str, str]:
        """The options of every write to the cluster."""
        client = {name: value for name, value in self.source.items() if not name.startswith("registry")}
        return {"kafka.bootstrap.servers": self.bootstrap, **client}

    @property
    def checkpoints(self) -> Checkpoints:
        return self.shared or LocalCheckpoints(self.folder / FOLDER)

    def checkpoint(self, query: str) -> Path:
        """In this folder: of every query without --checkpoints, and of one that fills a table here."""
        return self.path(FOLDER, query)

    def query_name(self, query: str) -> str:
        return f"{self.pipeline.name}.{query}"

    # --- inside ------------------------------------------------------------------------------------------------------

    def _reading(self, name: str) -> dict[str, str]:
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            "subscribe": self.topic(name),
            "kafka.group.id": self.pipeline.name,
            **self.source,
        }

    def _from(self, reader: Reader, earlier_ms: int = CLOCKS_MS) -> Reader:
        if self.begin_ms is None:
            return reader
        reader = reader.option("startingTimestamp", str(max(0, self.begin_ms - earlier_ms)))
        return reader.option("startingOffsetsByTimestampStrategy", "latest")

    def expected(self, name: str) -> Expected:
        for topic in self.pipeline.reads:
            if topic.name == name and topic.expected is not None:
                return topic.expected
        raise PipelineError(f"the pipeline {self.pipeline.name!r} reads no topic {name!r} with a schema")


def renamed(topics: Mapping[str, str], name: str) -> str:
    """A dead-letter topic follows the topic it belongs to."""
    if name.endswith(DEAD_LETTER):
        return renamed(topics, name.removesuffix(DEAD_LETTER)) + DEAD_LETTER
    return topics.get(name, name)
