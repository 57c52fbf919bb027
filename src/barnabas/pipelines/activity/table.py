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
    import pyarrow as pa
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
PAIR = ["interest", "job"]
RELOADED = "reloaded.parquet"
MOST_ROWS = 500_000  # of a batch: they are in the driver's memory


def append_to(folder: Path, told_twice: bool = False) -> Callable[[DataFrame, int], None]:
    """What `foreachBatch` calls. `told_twice`: a pair may have come before.

    The rows come to the driver and are written here: for some ten thousand rows, what Spark does for a join and a file
    takes many times their own CPU (100 us a row), from the very query that is to answer in milliseconds."""

    def append(rows: DataFrame, batch: int) -> None:
        with locked(folder):
            finish_exchange(folder)
            name = f"batch-{batch:09d}.parquet"
            found = rows.select(*COLUMNS).toArrow()
            for hour, part in _by_hour(found):
                known = _known(folder / hour, name) if told_twice else _known(folder / hour, name, RELOADED)
                _put(folder / hour / name, _fresh(part, known))

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
            file.replace(coming / hour / RELOADED)
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


def _by_hour(found: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    import pyarrow.compute as pc

    hours = pc.strftime(found["time"], "%Y-%m-%dT%H")
    for hour in sorted(pc.unique(hours).to_pylist()):
        yield f"hour={hour}", found.filter(pc.equal(hours, hour))


def _known(folder: Path, name: str, only: str = "*.parquet") -> list[Path]:
    """The files of an hour that may have a pair already, but for the one that this batch is about to write: all of
    them, or what a reload has put in. It read the log, and the stream may still be on its way to there."""
    return [file for file in sorted(folder.glob(only)) if file.name != name and not file.name.startswith("_")]


def _fresh(part: pa.Table, known: list[Path]) -> pa.Table:
    """Each pair once, and none that the files have."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbered = part.append_column("_row", pa.array(range(part.num_rows), pa.int64()))
    pairs = numbered.group_by(PAIR).aggregate([("_row", "min")])
    for file in known:
        pairs = pairs.join(pq.read_table(file, columns=PAIR, partitioning=None), PAIR, join_type="left anti")
    return part.take(pairs["_row_min"].sort())


def _put(place: Path, rows: pa.Table) -> None:
    """A file appears as a whole; one of the same batch that was written before is replaced."""
    import pyarrow.parquet as pq

    if not rows.num_rows:
        place.unlink(missing_ok=True)
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    staged = place.with_name(f"_{place.name}")
    pq.write_table(rows, staged)
    staged.replace(place)


def _hours_between(folder: Path, begin_ms: int, end_ms: int) -> list[str]:
    """The hours of the table that the range touches; their names sort as their times do."""
    from datetime import UTC, datetime

    first, last = (datetime.fromtimestamp(each / 1000, UTC).strftime("hour=%Y-%m-%dT%H") for each in (begin_ms, end_ms))
    return [each.name for each in sorted(folder.glob("hour=*")) if first <= each.name <= last and any(each.iterdir())]
