"""A range of the log as tables, each event once and kept on disk: what the figures and the digests are made of.

The log is read and parsed once. An event that was sent twice counts once, by its id; it counts for the recommendations
when one of its copies was sent in time. The tables lie on the disk, not in Java's memory, which is then free for
sorting: the range may be many times as large.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.activity.generator import JOBS, SEARCHES, VIEWS
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.common import bulk, lateness
from barnabas.pipelines.framework.expected import AHEAD_MS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.framework import RunContext

IN_TIME = "in_time"


@dataclass(frozen=True, slots=True)
class Day:
    """Searches, views and jobs of the range, with `in_time`; and the jobs that its searches and views may meet."""

    searches: DataFrame
    views: DataFrame
    jobs: DataFrame
    offered: DataFrame


@contextmanager
def opened(context: RunContext, rules: Rules) -> Iterator[Day]:
    from pyspark.storagelevel import StorageLevel

    begin_ms, end_ms = context.begin_ms, context.end_ms
    assert begin_ms is not None and end_ms is not None
    looked = (context.within(bulk.decoded(context, name, AHEAD_MS), "time") for name in (SEARCHES, VIEWS))
    searches, views = (once(each, rules) for each in looked)
    posted = bulk.decoded(context, JOBS, rules.window_ms + AHEAD_MS)
    offered = once(between(posted, begin_ms - rules.window_ms, end_ms + rules.after_ms), rules)
    kept = [each.persist(StorageLevel.DISK_ONLY) for each in (searches, views, offered)]
    try:
        with bulk.many_parts(context.spark):
            yield Day(searches, views, context.within(offered, "time"), offered)
    finally:
        for each in kept:
            each.unpersist()


def between(frame: DataFrame, begin_ms: int, end_ms: int) -> DataFrame:
    from pyspark.sql import functions as f

    return frame.where(f.unix_millis("time").between(begin_ms, end_ms))


def once(frame: DataFrame, rules: Rules) -> DataFrame:
    """Each event once. Rows are sorted by a hash of the id in front of the id: ids begin alike, so that to compare two
    of them takes long."""
    from pyspark.sql import functions as f

    columns = [name for name in frame.columns if not name.startswith("_") and name != "id"]
    in_time = lateness.in_time(rules.late_ms).cast("int").alias(IN_TIME)
    every = frame.select(f.xxhash64("id").alias("_hash"), "id", *columns, in_time).repartition("id")
    firsts = [f.first(name).alias(name) for name in columns]
    found = every.groupBy("_hash", "id").agg(*firsts, f.max(IN_TIME).alias(IN_TIME))
    return found.select("id", *columns, (f.col(IN_TIME) == 1).alias(IN_TIME))
