"""`lake`: any topic as a table of Parquet files with a Delta log, each record once; any past range loaded again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.pipelines.common import bulk
from barnabas.pipelines.common.numbers import whole
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Option, Outcome, Pipeline, Record, Topic
from barnabas.pipelines.framework.context import FORMAT
from barnabas.pipelines.framework.spans import span_ms
from barnabas.pipelines.lake import generator
from barnabas.pipelines.lake.compaction import FACTOR
from barnabas.pipelines.lake.shape import RAW, Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.framework import RunContext
    from barnabas.pipelines.lake.ranges import Range
    from barnabas.pipelines.lake.table import Table


class Lake(Pipeline):
    name = "lake"
    summary = "any topic as a table of Parquet files, in Delta's format"
    now_summary = "each record exactly once into the table, in folders by date; small files are merged"
    later_summary = "a past range (--from, --to, or --set offsets=...) loaded again, and only that range"
    reads = (Topic(generator.TOPIC),)
    options = (
        Option("columns", RAW, "SQL: what becomes of a record; partition, offset and timestamp are always there"),
        Option("where", "", "SQL: which records are kept"),
        Option("by", "day", "folders by day or by hour"),
        Option("every", "5s", "how often a batch is taken in"),
        Option("merge", str(FACTOR), "how many small files of about the same size are merged into one"),
        Option("keep", "1h", "how long replaced files stay for those who still read them"),
        Option("offsets", "", "for --later: partition:from-to, such as 0:100-200,1:0-50"),
    )

    def now(self, context: RunContext) -> None:
        from barnabas.pipelines.lake.now import Intake

        topic, table = context.topic(generator.TOPIC), table_of(context)
        query = f"intake.{topic}"  # a checkpoint for each topic: offsets of one mean nothing to another
        refuse_another_log(table, topic, bounds(context, topic))
        at_once = bulk.READING if context.once else {}  # a batch of a stream is small, and its splits are put together
        records = context.raw_stream(generator.TOPIC, includeHeaders="true", **at_once)
        shape = shape_of(context)
        shape.applied(records)  # what is wrong with it is said now, not by the first batch
        keep_ms, merge_at = span_ms(context.option("keep"), "keep"), whole(context, "merge", at_least=2)
        intake = Intake(table, topic, shape, context.checkpoint(query), keep_ms, merge_at)
        every_ms = span_ms(context.option("every"), "every")
        context.start(records.writeStream.foreachBatch(intake), query, f"{every_ms} milliseconds", fills_table=True)

    def later(self, context: RunContext) -> Outcome:
        from barnabas.pipelines.lake.later import reload

        topic, table, wanted = context.topic(generator.TOPIC), table_of(context), range_of(context)
        if not table.exists():
            raise PipelineError(f"there is no table in {table.place}. First run: barnabas pipeline run lake --now")
        log = bounds(context, topic)
        begins = {partition: begin for partition, (begin, _) in log.items()}
        done = reload(context.spark, table, topic, shape_of(context), wanted, reader(context, wanted, log), begins)
        lines = [
            f"{done.rows_before:,} rows replaced by {done.rows_after:,}; "
            f"{done.files_before} files written anew as {done.files_after}, "
            f"{done.rows_kept:,} rows in them as they were"
        ]
        numbers = {"rows_before": done.rows_before, "rows_after": done.rows_after, "rows_kept": done.rows_kept}
        return Outcome(lines, {"table": table.place}, numbers)

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        return generator.generate(seed, begin_ms, rate)


def table_of(context: RunContext) -> Table:
    from barnabas.pipelines.lake.table import Table

    return Table(context.path("tables", context.topic(generator.TOPIC)))


def shape_of(context: RunContext) -> Shape:
    return Shape(context.option("columns"), context.option("where"), context.option("by"))


def bounds(context: RunContext, topic: str) -> dict[int, tuple[int, int]]:
    """Where each partition of the log begins and ends now."""
    from barnabas.pipelines.framework.topics import open_admin

    with open_admin(context.bootstrap) as admin:
        found = admin.describe_topic(topic).partitions
    return {each.index: (each.start_offset or 0, each.end_offset or 0) for each in found}


def refuse_another_log(table: Table, topic: str, log: Mapping[int, tuple[int, int]]) -> None:
    """A topic that was deleted and made anew counts its offsets from zero: they would be taken for old ones."""
    for partition, taken in table.taken_in(topic).items():
        end = log.get(partition, (0, 0))[1]
        if end < taken:
            raise PipelineError(
                f"{topic}-{partition} ends at offset {end}, the table has it up to {taken}: this is another log. "
                "Use another folder with --data, or start over with --fresh"
            )


def reader(context: RunContext, wanted: Range, log: Mapping[int, tuple[int, int]]) -> Callable[[], DataFrame]:
    """Reads the range, and as little else as possible."""
    asked = {
        part: (max(first, log[part][0]), min(last, log[part][1]))
        for part, (first, last) in wanted.offsets.items()
        if part in log
    }
    asked = {part: (first, last) for part, (first, last) in asked.items() if first < last}
    if not asked:
        return lambda: context.raw_batch(generator.TOPIC, 0, includeHeaders="true", **bulk.READING)
    topic = context.topic(generator.TOPIC)
    options = {
        **context.writing(),
        "includeHeaders": "true",
        **bulk.READING,
        "assign": json.dumps({topic: sorted(asked)}),
        "startingOffsets": json.dumps({topic: {str(part): first for part, (first, _) in asked.items()}}),
        "endingOffsets": json.dumps({topic: {str(part): last for part, (_, last) in asked.items()}}),
    }
    return lambda: context.spark.read.format(FORMAT).options(**options).load()


def range_of(context: RunContext) -> Range:
    from barnabas.pipelines.lake.ranges import Range, parse_offsets

    offsets = parse_offsets(context.option("offsets"))
    if not offsets and context.begin_ms is None and context.end_ms is None:
        raise PipelineError("say which range to load again: --from TIME --to TIME, or --set offsets=0:100-200")
    return Range(context.begin_ms, context.end_ms, offsets)


PIPELINE = Lake()
