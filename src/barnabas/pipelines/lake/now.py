"""A topic into its table, batch by batch, each record exactly once.

Spark may run a batch again: after a crash it cannot know how far it came. So the table itself remembers: each commit
has the rows and, for every partition, the next offset. A batch that comes again finds its offsets behind that and adds
nothing; one that was half done adds only the rest. Not even a lost checkpoint makes a record come twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake.compaction import FACTOR, TARGET_BYTES
from barnabas.pipelines.lake.log import Action, Snapshot
from barnabas.pipelines.lake.merging import merge_small_files
from barnabas.pipelines.lake.shape import Shape
from barnabas.pipelines.lake.table import Table, positions, taken_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

TIDY_EVERY = 20
ATTEMPTS = 5


class Intake:
    """What `foreachBatch` calls."""

    def __init__(
        self,
        table: Table,
        topic: str,
        shape: Shape,
        checkpoint: Path,
        keep_ms: int,
        merge_at: int = FACTOR,
        target: int = TARGET_BYTES,
    ) -> None:
        self._table, self._topic, self._shape, self._checkpoint = table, topic, shape, checkpoint
        self._keep_ms, self._merge_at, self._target = keep_ms, merge_at, target

    def __call__(self, batch: DataFrame, number: int) -> None:
        ends = batch_ends(self._checkpoint, number, self._topic)
        for _ in range(ATTEMPTS):
            if self._taken(batch, ends):
                break
        else:
            raise PipelineError(f"another program takes {self._topic} into {self._table.place} at the same time")
        merge_small_files(batch.sparkSession, self._table, self._merge_at, self._target)
        if number % TIDY_EVERY == 0:
            self._table.tidy(self._keep_ms)

    def _taken(self, batch: DataFrame, ends: Mapping[int, int]) -> bool:
        """False when another one was first; then it is to be looked at again."""
        have = self._table.taken_in(self._topic)
        ahead = {partition: end for partition, end in ends.items() if end > have.get(partition, 0)}
        if not ahead:
            return True
        rows = self._shape.applied(batch.where(not_in_yet(have)))
        files = self._table.write(rows, self._shape.folders)

        def decide(found: Snapshot) -> list[Action] | None:
            if taken_in(found, self._topic) != have:
                return None
            return [*[each.add() for each in files], *positions(self._topic, ahead)]

        done = self._table.commit("STREAMING UPDATE", rows.schema, self._shape.folders, decide)
        if done is None:
            self._table.discard(files)
        return done is not None


def not_in_yet(have: Mapping[int, int]) -> Column:
    """The records behind what the table has."""
    from pyspark.sql import functions as f

    if not have:
        return f.lit(True)
    known = f.create_map(*[f.lit(each) for pair in sorted(have.items()) for each in pair])
    return f.col("offset") >= f.coalesce(f.try_element_at(known, f.col("partition")), f.lit(0))


def batch_ends(checkpoint: Path, number: int, topic: str) -> dict[int, int]:
    """Where a batch ends, by the plan that Spark wrote down before it began."""
    plan = checkpoint / "offsets" / str(number)
    for line in plan.read_text().splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and isinstance(told.get(topic), dict):
            return {int(partition): int(end) for partition, end in told[topic].items()}
    raise PipelineError(f"{plan} does not say where {topic} ends")
