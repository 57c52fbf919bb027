"""The table of recommendations: Parquet files by the hour of the interest, appended by the stream, reloaded by range.

One micro-batch leaves at most one file in an hour, named after the batch. A batch that is done again (the driver died
in it) writes the same names again, so it counts once. Where a pair may be in the topic twice (Real-Time Mode), rows
that the table has already are left out. `reload` puts a recomputed range in the place of what was there:
rows of the same hours outside the range stay, and each hour is exchanged as a folder. Both hold one lock, so neither
sees the other half way. Anything that reads Parquet reads the table; folders that begin with _ are not part of it.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NAME = "recommendations"
COLUMNS = (
    "member", "because", "about", "interest", "job", "title", "company", "city", "score", "time", "posted",
)  # fmt: skip
SCHEMA = (
    "member BIGINT NOT NULL, because STRING NOT NULL, about STRING, interest STRING NOT NULL, job STRING NOT NULL, "
    "title STRING, company STRING, city STRING, score INT, time TIMESTAMP NOT NULL, posted TIMESTAMP"
)
HOUR = "yyyy-MM-dd'T'HH"


def append_to(folder: Path, told_twice: bool = False) -> Callable[[DataFrame, int], None]:
    """What `foreachBatch` calls. `told_twice`: a pair may have come before."""

    def append(rows: DataFrame, batch: int) -> None:
        with locked(folder):
            finish_exchange(folder)
            staged, name = folder / "_staged" / f"batch-{batch}", f"batch-{batch:09d}.parquet"
            if told_twice:
                _write_unknown(folder, rows, name, staged)
            else:
                _write(_without_reloaded(folder, rows), staged)
            for hour, file in _staged_files(staged):
                (folder / hour).mkdir(parents=True, exist_ok=True)
                file.replace(folder / hour / name)
            shutil.rmtree(staged)

    return append


def reload(folder: Path, rows: DataFrame, begin_ms: int, end_ms: int) -> int:
    """Put `rows`, all of the range, in the place of what the table has of it. Returns how many there are now."""
    from pyspark.sql import functions as f

    spark = rows.sparkSession
    with locked(folder):
        finish_exchange(folder)
        begin, end = (f.timestamp_millis(f.lit(each)) for each in (begin_ms, end_ms))
        fresh = rows.where((f.col("time") >= begin) & (f.col("time") < end)).select(*COLUMNS).persist()
        try:
            count = fresh.count()
            hours = _hours_between(folder, begin_ms, end_ms)
            kept = fresh
            if hours:
                there = spark.read.schema(SCHEMA.replace(" NOT NULL", "")).parquet(
                    *[str(folder / hour) for hour in hours]
                )
                outside = there.where((f.col("time") < begin) | (f.col("time") >= end)).select(*COLUMNS)
                kept = fresh.unionByName(outside)
            staged = folder / "_staged" / "reload"
            _write(kept, staged)
        finally:
            fresh.unpersist()
        coming = folder / "_coming"
        shutil.rmtree(coming, ignore_errors=True)
        coming.mkdir(parents=True)
        for hour in hours:  # an hour of which nothing is left is exchanged for an empty one
            (coming / hour).mkdir()
        for hour, file in _staged_files(staged):
            (coming / hour).mkdir(exist_ok=True)
            file.replace(coming / hour / "reloaded.parquet")
        shutil.rmtree(staged)
        (coming / "_complete").touch()
        finish_exchange(folder)
    return count


def finish_exchange(folder: Path) -> None:
    """Put what `reload` prepared in its place. Whoever died in the middle of this left the rest for the next one."""
    coming = folder / "_coming"
    if not (coming / "_complete").exists():
        shutil.rmtree(coming, ignore_errors=True)
        return
    for hour in sorted(coming.glob("hour=*")):
        shutil.rmtree(folder / hour.name, ignore_errors=True)
        hour.replace(folder / hour.name)
    shutil.rmtree(coming)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "_lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(rows: DataFrame, staged: Path) -> None:
    from pyspark.sql import functions as f

    shutil.rmtree(staged, ignore_errors=True)
    by_hour = rows.withColumn("hour", f.date_format("time", HOUR)).coalesce(1)
    by_hour.write.mode("overwrite").partitionBy("hour").parquet(str(staged))


def _staged_files(staged: Path) -> list[tuple[str, Path]]:
    return [(file.parent.name, file) for file in sorted(staged.glob("hour=*/*.parquet"))]


def _without_reloaded(folder: Path, rows: DataFrame) -> DataFrame:
    """What a reload has put in already: it read the log, the stream may still be on its way to there."""
    reloaded = [str(file) for file in folder.glob("hour=*/reloaded.parquet")]
    if not reloaded:
        return rows
    there = rows.sparkSession.read.parquet(*reloaded).select("interest", "job")
    return rows.join(there, ["interest", "job"], "left_anti").select(*COLUMNS)


def _write_unknown(folder: Path, rows: DataFrame, name: str, staged: Path) -> None:
    """Each pair once, and none that a file of its hour has, but for the file that this batch is about to write."""
    from pyspark.sql import functions as f

    once = rows.dropDuplicates(["interest", "job"]).persist()
    try:
        hours = [row[0] for row in once.select(f.date_format("time", HOUR)).distinct().collect()]
        known = [str(file) for hour in hours for file in folder.glob(f"hour={hour}/*.parquet") if file.name != name]
        fresh = once
        if known:
            there = rows.sparkSession.read.parquet(*known).select("interest", "job")
            fresh = once.join(there, ["interest", "job"], "left_anti").select(*COLUMNS)
        _write(fresh, staged)
    finally:
        once.unpersist()


def _hours_between(folder: Path, begin_ms: int, end_ms: int) -> list[str]:
    """The hours of the table that the range touches; their names sort as their times do."""
    from datetime import UTC, datetime

    first, last = (datetime.fromtimestamp(each / 1000, UTC).strftime("hour=%Y-%m-%dT%H") for each in (begin_ms, end_ms))
    return [each.name for each in sorted(folder.glob("hour=*")) if first <= each.name <= last and any(each.iterdir())]
