"""Rows as Parquet. Each object has a schema of its own, inferred from what is in it.

A column of one type has that type; integers among floating-point numbers become those, and a column of types that have
nothing in common becomes text, each value as JSON (texts as they are). Nothing is lost or refused for its type.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Literal
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from barnabas.connect.connectors.s3.rows import JSON, Columns
from barnabas.connect.contract import Delivered, Value

ROWS_PENDING, BYTES_PENDING = 5000, 4_000_000  # kept as Python's objects, which are several times as large
ROW_GROUP = 100_000
DEPTH_MAX = 16  # of structures; what is deeper is written as JSON

_NONE = type(None)
_SIMPLE: frozenset[type] = frozenset({str, int, float, bool, bytes, Decimal, date, time, list, datetime})
_TOGETHER = ({int, float}, {int, Decimal})
# What inferring or casting raises when values do not fit.
_NOT_FITTING = (pa.ArrowException, OverflowError, ValueError, TypeError)
_META = "barnabas.batch"


class ParquetRows:
    """Rows of one object, by ascending offset."""

    def __init__(self, columns: Columns, nested: Literal["struct", "json"], columns_max: int, compression: str) -> None:
        self._columns, self._nested, self._most = columns, nested, columns_max
        self._compression = compression
        self._names: dict[str, None] = {}  # of columns, in the order in which they came
        self._records: list[Delivered] = []
        self._rows: list[dict[str, Value]] = []
        self._pending = 0
        self._tables: list[tuple[list[int], pa.Table]] = []  # offsets of the rows, and the rows

    def add(self, record: Delivered, row: dict[str, Value]) -> int:
        """The row's size as JSON. Raises ValueError and others of rows.NOT_JSON, and then has added nothing."""
        size = len(JSON.encode(row))
        if record.key is not None:
            size += len(JSON.encode(record.key))
        if not row.keys() <= self._names.keys():
            names = self._names | dict.fromkeys(row)
            if len(names) > self._most:
                raise ValueError(f"its fields make more than {self._most} columns in one object; see 'columns_max'")
            self._names = names
        self._records.append(record)
        self._rows.append(row)
        self._pending += size
        if len(self._rows) >= ROWS_PENDING or self._pending >= BYTES_PENDING:
            self._convert()
        return size

    def split(self, offset: int) -> ParquetRows:
        """Keeps what is before `offset`, gives the rest."""
        self._convert()
        rest = ParquetRows(self._columns, self._nested, self._most, self._compression)
        rest._names = dict(self._names)
        kept = []
        for offsets, table in self._tables:
            at = bisect_left(offsets, offset)
            if at:
                kept.append((offsets[:at], table.slice(0, at)))
            if at < len(offsets):
                rest._tables.append((offsets[at:], table.slice(at)))
        self._tables = kept
        return rest

    def __len__(self) -> int:
        return len(self._rows) + sum(len(offsets) for offsets, _ in self._tables)

    def encode(self, batch: str) -> bytes:
        self._convert()
        table = _together([each for _, each in self._tables])
        table = table.replace_schema_metadata({_META: batch})
        out = pa.BufferOutputStream()
        pq.write_table(table, out, compression=self._compression, row_group_size=ROW_GROUP)
        return out.getvalue().to_pybytes()  # type: ignore[no-any-return]  # pyarrow has no types

    def _convert(self) -> None:
        records, rows = self._records, self._rows
        if not rows:
            return
        columns = {name: [row.get(name) for row in rows] for name in self._names}
        made = {name: self._column(values) for name, values in columns.items()}
        if self._columns.metadata:
            made |= self._metadata(records)
        if not made:  # rows of structures without fields: a table has to have a column to have rows
            made = {self._columns.value: pa.nulls(len(rows))}
        self._tables.append(([record.place for record in records], pa.table(made)))
        self._records, self._rows, self._pending = [], [], 0

    def _metadata(self, records: Sequence[Delivered]) -> dict[str, pa.Array]:
        names = self._columns
        header = pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))
        headers = [[{"name": n, "value": v} for n, v in each.headers] or None for each in records]
        return {
            names.topic: pa.array([each.topic for each in records], pa.string()),
            names.partition: pa.array([each.partition for each in records], pa.int32()),
            names.offset: pa.array([each.offset for each in records], pa.int64()),
            names.timestamp: pa.array([each.timestamp_ms for each in records], pa.timestamp("ms", "UTC")),
            names.key: self._column([each.key for each in records]),
            names.headers: pa.array(headers, header),
        }

    def _column(self, values: list[Value]) -> pa.Array:
        kinds = set(map(type, values)) - {_NONE}
        if len(kinds) == 1 or kinds in _TOGETHER:
            kind = next(iter(kinds))
            if kind is UUID:
                return pa.array([None if each is None else str(each) for each in values], pa.string())
            aware = {each.tzinfo is not None for each in values if each is not None} if kind is datetime else ()
            fitting = kinds <= _SIMPLE or (kinds == {dict} and self._nested == "struct")
            if fitting and len(aware) < 2:
                try:
                    made = pa.array(values)
                except _NOT_FITTING:
                    return as_text(values)
                return made if _writable(made.type, self._most) else as_text(values)
        return as_text(values) if kinds else pa.nulls(len(values))


def as_text(values: list[Value]) -> pa.Array:
    return pa.array(
        [each if each is None or type(each) is str else JSON.encode(each).decode() for each in values], pa.string()
    )


def _writable(kind: pa.DataType, most: int) -> bool:
    """Whether Parquet has the type: no structure without fields, none too deep, not too many fields in all."""
    level, count = [kind], 0
    for _ in range(DEPTH_MAX):
        below = []
        for each in level:
            if pa.types.is_struct(each):
                if not each.num_fields:
                    return False
                below += [each.field(at).type for at in range(each.num_fields)]
            elif pa.types.is_list(each):
                below.append(each.value_type)
        count += len(below)
        if not below:
            return True
        if count > most:
            return False
        level = below
    return False


def _together(tables: list[pa.Table]) -> pa.Table:
    """One table; columns that differ in type between the parts are brought to a common one."""
    if len(tables) == 1:
        return tables[0]
    kinds: dict[str, list[pa.DataType]] = {}
    for table in tables:
        for field in table.schema:
            kinds.setdefault(field.name, []).append(field.type)
    columns = {name: _joined(name, tables, _common(kinds[name])) for name in kinds}
    return pa.table(columns)


def _common(kinds: list[pa.DataType]) -> pa.DataType | None:
    """None: as text."""
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    # Arrow would make bytes of texts among bytes; as everywhere here, they become text.
    if any(map(pa.types.is_binary, kinds)) and any(map(pa.types.is_string, kinds)):
        return None
    try:
        schemas = [pa.schema([("x", kind)]) for kind in kinds]
        return pa.unify_schemas(schemas, promote_options="permissive").field("x").type
    except pa.ArrowException:
        return None


def _joined(name: str, tables: list[pa.Table], kind: pa.DataType | None) -> pa.ChunkedArray:
    parts: list[pa.Array] = []
    if kind is not None:
        try:
            for table in tables:
                parts += _parts(table, name, kind)
            return pa.chunked_array(parts, kind)
        except _NOT_FITTING:  # integers that a floating-point number cannot hold, for one
            parts = []
    for table in tables:
        values = table.column(name).to_pylist() if name in table.column_names else [None] * table.num_rows
        parts.append(as_text(values))
    return pa.chunked_array(parts, pa.string())


def _parts(table: pa.Table, name: str, kind: pa.DataType) -> list[pa.Array]:
    if name not in table.column_names:
        return [pa.nulls(table.num_rows, kind)]
    return list(table.column(name).cast(kind).chunks)
