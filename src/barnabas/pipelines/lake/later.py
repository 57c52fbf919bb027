"""A past range loaded again from the log, with the logic of today: exactly that range changes.

The files that the range touches are written anew: their rows outside of it as they are, and in it what the log and the
present logic give. Old files out and new files in is one commit, so a reader sees the range as it was or as it is. The
stream may run on meanwhile: it adds behind the range; if small files were merged in between, it is done over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake.log import Action, DataFile, Snapshot, position
from barnabas.pipelines.lake.ranges import Range
from barnabas.pipelines.lake.schemas import merged
from barnabas.pipelines.lake.shape import Shape
from barnabas.pipelines.lake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ATTEMPTS = 5
RELOADS = "barnabas-reloads"  # counts them in the log, so that two at a time are noticed


@dataclass(frozen=True, slots=True)
class Reloaded:
    rows_before: int
    rows_after: int
    rows_kept: int  # in the files that were written anew, outside of the range
    files_before: int
    files_after: int


def reload(
    spark: SparkSession,
    table: Table,
    topic: str,
    shape: Shape,
    wanted: Range,
    records: Callable[[], DataFrame],
    log_begins: Mapping[int, int],
) -> Reloaded:
    """`records` reads the topic, at least the range; `log_begins` is the first offset that it still has."""
    for _ in range(ATTEMPTS):
        done = _reloaded(spark, table, topic, shape, wanted, records, log_begins)
        if done is not None:
            return done
    raise PipelineError(f"{table.place} was changed each time while the range was loaded; try again in a quiet moment")


def _reloaded(
    spark: SparkSession,
    table: Table,
    topic: str,
    shape: Shape,
    wanted: Range,
    records: Callable[[], DataFrame],
    log_begins: Mapping[int, int],
) -> Reloaded | None:
    found = table.log.snapshot()
    if found.partition_columns != shape.folders:
        raise PipelineError(f"the table's folders are by {', '.join(found.partition_columns)}; give the same `by`")
    known = table.schema()
    assert known is not None
    count = found.positions.get(RELOADS, 0)
    condition = wanted.within(table.taken_in(topic))
    touched = [each for each in found.files.values() if wanted.may_touch(each)]
    old = table.read(spark, touched)
    rows_before = _still_in_the_log(old.where(condition), log_begins, topic)
    fresh = shape.applied(records().where(condition))
    schema = merged(known, fresh.schema)
    rest = old.where(f"NOT ({condition})")
    whole = rest.unionByName(fresh, allowMissingColumns=True).select(*schema.names)
    files = table.write(whole.sortWithinPartitions(*shape.folders, "partition", "offset"), shape.folders)
    now_ms = int(time.time() * 1000)

    def decide(latest: Snapshot) -> list[Action] | None:
        """Files that came meanwhile are the stream's, and hold what lies behind the range, or were made of others."""
        if latest.positions.get(RELOADS, 0) != count or any(each.path not in latest.files for each in touched):
            return None
        changed = [*[each.remove(now_ms) for each in touched], *[each.add() for each in files]]
        return [*changed, position(RELOADS, count + 1)]

    if table.commit("REPLACE RANGE", schema, shape.folders, decide) is None:
        table.discard(files)
        return None
    rows_kept = _rows(touched) - rows_before
    return Reloaded(rows_before, _rows(files) - rows_kept, rows_kept, len(touched), len(files))


def _still_in_the_log(old: DataFrame, log_begins: Mapping[int, int], topic: str) -> int:
    """How many rows will be replaced. None may be older than the log: it could not be brought back."""
    from pyspark.sql import functions as f

    total = 0
    for row in old.groupBy("partition").agg(f.min("offset").alias("first"), f.count("*").alias("count")).collect():
        begins = log_begins.get(row["partition"])
        if begins is None or row["first"] < begins:
            raise PipelineError(
                f"{topic}-{row['partition']} begins at offset {begins} now, the range has rows from {row['first']} on, "
                "which would be lost. Nothing was changed; choose a later begin"
            )
        total += row["count"]
    return total


def _rows(files: list[DataFile]) -> int:
    return sum(json.loads(each.stats or "{}").get("numRecords", 0) for each in files)
