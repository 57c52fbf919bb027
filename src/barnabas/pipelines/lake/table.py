"""A table on disk: Parquet files in folders by date, and the log that says which of them count.

Files are written by Spark into `_staging/`, moved to their folders, and become part of the table with one commit of the
log. What a killed writer leaves is in no commit, so no reader sees it, and `tidy` removes it after a while. The folder
must be one that all of Spark sees: a local disk with a local master, a shared file system with a cluster.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipelines.lake import checkpoints
from barnabas.pipelines.lake.log import Action, DataFile, DeltaLog, Snapshot, meta_data, position, sync_folder
from barnabas.pipelines.lake.schemas import from_text, merged, to_text
from barnabas.pipelines.lake.statistics import described

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

STAGING = "_staging"
_APP = "barnabas"


class Table:
    def __init__(self, place: Path) -> None:
        self.place = place
        self.log = DeltaLog(place)

    # --- reading -----------------------------------------------------------------------------------------------------

    def exists(self) -> bool:
        return self.log.snapshot().version >= 0

    def files(self) -> list[DataFile]:
        return list(self.log.snapshot().files.values())

    def taken_in(self, topic: str) -> dict[int, int]:
        """How far each partition of the topic is in: the next offset."""
        return taken_in(self.log.snapshot(), topic)

    def schema(self) -> StructType | None:
        text = self.log.snapshot().schema_text
        return from_text(text) if text is not None else None

    def read(self, spark: SparkSession, files: Iterable[DataFile] | None = None) -> DataFrame:
        """The rows of the table, or of some of its files."""
        schema = self.schema()
        assert schema is not None, "the table is not there yet"
        chosen = [str(self.place / each.path) for each in (self.files() if files is None else files)]
        if not chosen:
            return spark.createDataFrame([], schema)
        found = spark.read.schema(schema).option("basePath", str(self.place)).parquet(*chosen)
        return found.select(*schema.names)

    # --- writing -----------------------------------------------------------------------------------------------------

    def write(self, frame: DataFrame, partition_columns: list[str]) -> list[DataFile]:
        """Rows to files in their folders. They are not part of the table before a commit says so."""
        staged = self.place / STAGING / uuid.uuid4().hex
        spark = frame.sparkSession
        spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")  # Delta knows no other
        try:
            frame.write.partitionBy(*partition_columns).parquet(str(staged))
            return [self._moved(staged, each) for each in sorted(staged.rglob("*.parquet"))]
        finally:
            shutil.rmtree(staged, ignore_errors=True)

    def commit(
        self,
        operation: str,
        schema: StructType,
        partition_columns: list[str],
        decide: Callable[[Snapshot], Iterable[Action] | None],
    ) -> int | None:
        """What `decide` says, and with it the table's description when it is new or has more columns."""

        def whole(found: Snapshot) -> Iterable[Action] | None:
            wanted = decide(found)
            if wanted is None:
                return None
            known = from_text(found.schema_text) if found.schema_text is not None else None
            grown = merged(known, schema)
            if known == grown:
                return wanted
            table_id = found.meta["id"] if found.meta is not None else str(uuid.uuid4())
            return [meta_data(table_id, to_text(grown), partition_columns), *wanted]

        version = self.log.commit(whole, operation)
        if version is not None and version % checkpoints.EVERY == 0 and version > 0:
            checkpoints.write_checkpoint(self.log.folder, self.log.snapshot())
            checkpoints.forget_old_versions(self.log.folder, version)
        return version

    def discard(self, files: Iterable[DataFile]) -> None:
        """Files that no commit will name."""
        for each in files:
            (self.place / each.path).unlink(missing_ok=True)

    def tidy(self, keep_ms: int) -> int:
        """Remove files that left the table, or never were in it, so long ago that nobody reads them."""
        found = self.log.snapshot()
        before = time.time() - keep_ms / 1000
        gone = 0
        for place in self._parquet_files():
            path = place.relative_to(self.place).as_posix()
            if path in found.files:
                continue
            since = found.removed[path] / 1000 if path in found.removed else place.stat().st_mtime
            if since <= before:
                place.unlink(missing_ok=True)
                gone += 1
        for staged in (self.place / STAGING).glob("*"):
            if staged.stat().st_mtime <= before:
                shutil.rmtree(staged, ignore_errors=True)
        return gone

    def _parquet_files(self) -> Iterator[Path]:
        for folder in self.place.iterdir() if self.place.is_dir() else ():
            if folder.is_dir() and not folder.name.startswith("_"):
                yield from folder.rglob("*.parquet")

    def _moved(self, staged: Path, written: Path) -> DataFile:
        folder = written.parent.relative_to(staged)
        place = self.place / folder / f"{uuid.uuid4().hex}.parquet"
        if not place.parent.is_dir():
            place.parent.mkdir(parents=True, exist_ok=True)
            sync_folder(place.parent.parent)
        with written.open("rb") as whole:
            os.fsync(whole.fileno())
        written.replace(place)
        sync_folder(place.parent)
        return described(self.place, place)


def taken_in(found: Snapshot, topic: str) -> dict[int, int]:
    begin = f"{_APP}/{topic}/"
    return {int(name.removeprefix(begin)): value for name, value in found.positions.items() if name.startswith(begin)}


def positions(topic: str, ends: Mapping[int, int]) -> list[Action]:
    return [position(f"{_APP}/{topic}/{partition}", end) for partition, end in sorted(ends.items())]
