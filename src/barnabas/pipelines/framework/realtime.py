"""Spark's Real-Time Mode for a run: whether it can be had, how many tasks it needs, and its queries' ways in and out.

A query in this mode keeps a task on every partition that it reads and on every partition of its shuffle, all at the
same time, for as long as it runs. On one machine a task is a thread, so Spark gets as many as are needed; a cluster
must have the cores. Reading and writing is Spark's own Kafka connector, which writes at least once. Where any of it is
missing the pipeline runs by micro-batches, exactly once, and one line says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import decoding
from barnabas.pipelines.framework.pipeline import Option, Pipeline
from barnabas.pipelines.framework.spans import span_ms
from barnabas.pipelines.framework.topics import open_admin
from barnabas.pipelines.session import local_cores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipelines.framework.context import RunContext
    from barnabas.pipelines.framework.running import Wanted

FORMAT = "kafka"
# Spark saves state and offsets, and moves the watermark, between two batches, and nothing is answered meanwhile: half a
# second on two cores, most of it planning. After a crash the records of the last batch are answered again.
BATCH = Option(
    "batch", "2m", "in Real-Time Mode: how often progress is saved; what came since is told again after a stop"
)
LEAST_BATCH_MS = 5_000  # Spark's
BESIDE = "60 seconds"  # the pace of queries beside it: a micro-batch takes a second of the cores, however few its rows
LIVE = "live"  # the query, and so its checkpoint
# What a record waits for others to come before it is handed to the next stage; Spark's 50 ms would be most of the time
# from an event to its result.
SETTINGS = {
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "2",
    # The pause between two batches is compiling and planning the next. Spark keeps 100 pieces of compiled code, and a
    # pipeline with its table and its dead letters has 110: a part was compiled anew in every pause, which took 0.4 s.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Filters that follow from others: nothing follows here, and looking for them was half of the planning, 0.15 s.
    "spark.sql.constraintPropagation.enabled": "false",
}
# Between two batches a query gives its tasks back, and fails when it does not get all of them again at once. So there
# must be room for as many beside it: a batch over the same partitions, the table, the dead letters.
OTHERS = 32
# Names of librdkafka that Java's client does not know; the connector would pass over them.
_NOT_JAVAS = ("kafka.sasl.username", "kafka.sasl.password", "kafka.ssl.ca.location", "kafka.ssl.certificate.location")


def tasks_wanted(wanted: Wanted, place: object, queries: Set[str], say: Callable[[str], object]) -> int:
    """How many tasks at the same time the run needs; 0 where it runs by micro-batches. `queries`: those that have their
    progress in `place`."""
    if not wanted.now or not wanted.pipeline.realtime:
        return 0
    _batch_ms(wanted.pipeline, wanted.options)
    began_live, began_otherwise = LIVE in queries, bool(queries) and LIVE not in queries
    if wanted.exactly_once or wanted.once:
        if began_live:
            flag = "--exactly-once" if wanted.exactly_once else "--once"
            raise PipelineError(
                f"{wanted.pipeline.name} has its progress in {place} from Real-Time Mode, which has no {flag}."
                f" Start over with --fresh, or use another place with {place_flag(wanted)}"
            )
        return 0
    why = "it goes on from a run with --exactly-once (--fresh starts over)" if began_otherwise else missing(wanted)
    if why:
        if began_live:
            raise PipelineError(f"{wanted.pipeline.name} began in Real-Time Mode, and now {why}")
        say(f"no Real-Time Mode, micro-batches instead: {why}")
        return 0
    return _partitions(wanted) + wanted.pipeline.realtime


def refuse_other_mode(wanted: Wanted, queries: Set[str], tasks: int) -> None:
    """A run that began in this mode and does not find the room for it any more, as on a cluster that has lost a worker,
    must not begin anew by micro-batches: it would tell everything twice."""
    if wanted.now and LIVE in queries and not tasks:
        raise PipelineError(
            f"{wanted.pipeline.name} began in Real-Time Mode, for which Spark at {wanted.master} has no room now."
            " Give it the cores, or start over with --fresh"
        )


def place_flag(wanted: Wanted) -> str:
    return "--checkpoints" if wanted.checkpoints else "--data"


def missing(wanted: Wanted) -> str:
    """What this mode lacks here, in one line; empty where nothing is missing."""
    from barnabas.pipelines.connector import connector_jars

    unknown = [name for name in _NOT_JAVAS if name in wanted.source]
    if unknown:
        return f"--client {unknown[0].removeprefix('kafka.')} is librdkafka's; Spark's connector takes Java's settings"
    try:
        connector_jars()
    except PipelineError as error:
        return str(error)
    return ""


def _partitions(wanted: Wanted) -> int:
    with open_admin(wanted.bootstrap) as admin:
        names = [wanted.topic(each.name) for each in wanted.pipeline.reads if each.streamed]
        return sum(len(admin.describe_topic(name).partitions) for name in names)


def _batch_ms(pipeline: Pipeline, options: Mapping[str, str]) -> int:
    default = BATCH.default
    length_ms = span_ms(options.get(BATCH.name, default) if BATCH in pipeline.options else default, BATCH.name)
    if length_ms < LEAST_BATCH_MS:
        raise PipelineError(f"{BATCH.name}={options[BATCH.name]} is too short: Spark takes 5s at the least")
    return length_ms


def master_with(master: str, tasks: int) -> str:
    """A local master with so many threads, and as many and more for other queries; they share the cores."""
    if local_cores(master) is None or not tasks:
        return master
    return f"local[{2 * tasks + OTHERS},4]"


def lacks(spark: SparkSession, tasks: int) -> str:
    """What a session has too little of."""
    from barnabas.pipelines.framework.spark_start import cluster_cores

    context = spark.sparkContext
    needed, on_cluster = 2 * tasks, local_cores(context.master or "") is None
    there = cluster_cores(context, enough=needed) if on_cluster else context.defaultParallelism
    if there >= needed:
        return ""
    return f"it needs {needed} cores, for {tasks} tasks and what runs beside; Spark at {context.master} has {there}"


def stream(context: RunContext, name: str, from_ms: int) -> DataFrame:
    """`RunContext.stream` by Spark's connector, from this time of the log on."""
    reader = context.spark.readStream.format(FORMAT).options(**context.writing())
    reader = reader.option("subscribe", context.topic(name)).option("kafka.isolation.level", "read_committed")
    if from_ms > 0:
        reader = reader.option("startingTimestamp", str(from_ms))
        reader = reader.option("startingOffsetsByTimestampStrategy", "latest")
    else:
        reader = reader.option("startingOffsets", "earliest")
    return decoding.good(reader.load(), context.expected(name), counted_as=context.topic(name))


def streams(context: RunContext, from_ms: Mapping[str, int]) -> list[DataFrame]:
    """Several of them. Each takes Spark a while to understand when it is new to Java, so they are made at a time."""
    with ThreadPoolExecutor(len(from_ms)) as threads:
        return list(threads.map(lambda each: stream(context, *each), from_ms.items()))


def to_topic(context: RunContext, frame: DataFrame, name: str, partitions: int) -> None:
    """Start the query that writes to a topic, each row at least once."""
    writer = frame.writeStream.format(FORMAT).outputMode("update").options(**context.writing())
    writer = writer.option("topic", context.topic(name))
    batch = f"{_batch_ms(context.pipeline, context.options)} milliseconds"
    writer = writer.trigger(realTime=batch)  # type: ignore[call-overload]  # PySpark's overloads lack it
    context.shuffles[LIVE] = partitions
    context.start(writer, LIVE)
