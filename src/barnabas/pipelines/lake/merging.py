"""Small files made into larger ones: the same rows, so no reader of the table sees a difference."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barnabas.pipelines.lake.compaction import FACTOR, TARGET_BYTES, to_merge
from barnabas.pipelines.lake.log import Action, DataFile, Snapshot
from barnabas.pipelines.lake.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merge_small_files(
    spark: SparkSession, table: Table, enough: int = FACTOR, target: int = TARGET_BYTES
) -> tuple[int, int]:
    """Returns how many files became how many."""
    before = after = 0
    for group in to_merge(table.files(), enough, target):
        made = _merged(spark, table, group)
        if made is not None:
            before, after = before + len(group), after + made
    return before, after


def _merged(spark: SparkSession, table: Table, group: list[DataFile]) -> int | None:
    """One file of these; None when somebody changed one of them meanwhile."""
    schema, folders = table.schema(), table.log.snapshot().partition_columns
    assert schema is not None
    rows = table.read(spark, group).coalesce(1).sortWithinPartitions(*folders, "partition", "offset")
    files = table.write(rows, folders)
    now_ms = int(time.time() * 1000)

    def decide(found: Snapshot) -> list[Action] | None:
        if any(each.path not in found.files for each in group):
            return None
        return [*[each.remove(now_ms, False) for each in group], *[each.add(False) for each in files]]

    if table.commit("OPTIMIZE", schema, folders, decide) is None:
        table.discard(files)
        return None
    return len(files)
