"""What the lake uses of Spark's frames, on Arrow: rows are filtered, written to Parquet files and read again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any  # a row's values

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.types import DateType, StringType, StructType, TimestampType

Row = dict[str, Any]
_ARROW = {"string": pa.string(), "long": pa.int64(), "integer": pa.int32(), "timestamp": pa.timestamp("us", "UTC")}


class ArrowSession:
    def __init__(self) -> None:
        self.settings: dict[str, str] = {}

    @property
    def conf(self) -> ArrowSession:
        return self

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value

    @property
    def read(self) -> _Reader:
        return _Reader(self)

    def createDataFrame(self, rows: list[Row], schema: StructType) -> ArrowFrame:
        return ArrowFrame(self, rows, schema)


class ArrowFrame:
    def __init__(self, session: ArrowSession, rows: list[Row], schema: StructType) -> None:
        self.sparkSession, self.rows, self.schema = session, rows, schema
        self._folders: tuple[str, ...] = ()

    def where(self, keeps: Callable[[Row], bool]) -> ArrowFrame:
        return ArrowFrame(self.sparkSession, [row for row in self.rows if keeps(row)], self.schema)

    def select(self, *names: str) -> ArrowFrame:
        schema = StructType([field for field in self.schema.fields if field.name in names])
        rows = [{name: row.get(name) for name in names} for row in self.rows]
        return ArrowFrame(self.sparkSession, rows, schema)

    def coalesce(self, count: int) -> ArrowFrame:
        assert count == 1
        return self

    def sortWithinPartitions(self, *names: str) -> ArrowFrame:
        rows = sorted(self.rows, key=lambda row: tuple(row[name] for name in names))
        return ArrowFrame(self.sparkSession, rows, self.schema)

    def unionByName(self, other: ArrowFrame) -> ArrowFrame:
        return ArrowFrame(self.sparkSession, [*self.rows, *other.rows], self.schema)

    def count(self) -> int:
        return len(self.rows)

    # --- writing ----------------------------------------------------------------------------------------------------

    @property
    def write(self) -> ArrowFrame:
        return self

    def partitionBy(self, *names: str) -> ArrowFrame:
        self._folders = names
        return self

    def parquet(self, place: str) -> None:
        """A file for each folder, as from one task."""
        kept = [field for field in self.schema.fields if field.name not in self._folders]
        columns = pa.schema([(field.name, _ARROW[field.dataType.typeName()]) for field in kept])
        groups: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(f"{name}={row[name]}" for name in self._folders), []).append(row)
        for parts, rows in groups.items():
            folder = Path(place, *parts)
            folder.mkdir(parents=True, exist_ok=True)
            given = [{name: row.get(name) for name in columns.names} for row in rows]
            pq.write_table(pa.Table.from_pylist(given, columns), folder / f"{uuid.uuid4().hex}.parquet")


class _Reader:
    def __init__(self, session: ArrowSession) -> None:
        self._session, self._schema = session, StructType()

    def schema(self, schema: StructType) -> _Reader:
        self._schema = schema
        return self

    def option(self, name: str, value: str) -> _Reader:
        assert name == "basePath"
        return self

    def parquet(self, *places: str) -> ArrowFrame:
        rows: list[Row] = []
        for place in map(Path, places):
            folders = dict(part.split("=", 1) for part in place.parts if "=" in part)
            rows += [row | folders for row in pq.read_table(place, partitioning=None).to_pylist()]
        return ArrowFrame(self._session, rows, self._schema)


RECORDS = StructType()
for _name, _kind in (("value", StringType()), ("timestamp", TimestampType()), ("date", DateType())):
    RECORDS.add(_name, _kind)
RECORDS.add("partition", "integer").add("offset", "long")
