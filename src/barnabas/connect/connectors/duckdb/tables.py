"""Tables of a DuckDB file: what they look like, changes, and rows as Arrow."""

from __future__ import annotations

import re
from decimal import Decimal

import duckdb
import msgspec
import pyarrow as pa

from barnabas.connect.connectors.relational.database import NotChanged
from barnabas.connect.connectors.relational.kinds import DOUBLE_EXACT, FLOATS, INTEGERS, Dialect, Kind
from barnabas.connect.connectors.relational.model import Action, Change, Column, Load, Table
from barnabas.connect.contract import Value

DIALECT = Dialect(
    types={
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INT32: "INTEGER",
        Kind.INT64: "BIGINT",
        Kind.INT128: "HUGEINT",
        Kind.NUMERIC: "DECIMAL(38,9)",
        Kind.FLOAT64: "DOUBLE",
        Kind.TEXT: "VARCHAR",
        Kind.JSON: "JSON",
        Kind.BYTES: "BLOB",
        Kind.TIMESTAMP: "TIMESTAMP",
        Kind.TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE",
        Kind.DATE: "DATE",
        Kind.TIME: "TIME",
        Kind.UUID: "UUID",
    },
    exact=None,  # its decimals have 38 digits
    reads_text=False,
    folds_case=True,
    name_bytes=255,
    decimals=("DECIMAL({},{})", 38),
)
_KINDS = {
    **{declared: kind for kind, declared in DIALECT.types.items()},
    "SMALLINT": Kind.INT16,
    "FLOAT": Kind.FLOAT32,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
STAGE = "barnabas_stage"
_KEY_COMMENT = "key of barnabas: "
# What a column is in Arrow; the rest is text, and cast by DuckDB. HUGEINT comes as a decimal.
_ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT16: pa.int16(),
    Kind.INT32: pa.int32(),
    Kind.INT64: pa.int64(),
    Kind.INT128: pa.decimal128(38, 0),
    Kind.FLOAT32: pa.float64(),
    Kind.FLOAT64: pa.float64(),
    Kind.BYTES: pa.binary(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time64("us"),
}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted_table(name: tuple[str, ...]) -> str:
    return ".".join(map(quoted, name))


def read_table(connection: duckdb.DuckDBPyConnection, name: tuple[str, ...]) -> Table | None:
    schema, table = name if len(name) == 2 else ("main", name[0])
    rows = connection.execute(
        "select column_name, data_type, column_default from duckdb_columns() where database_name = current_database() "
        "and lower(schema_name) = lower(?) and lower(table_name) = lower(?) order by column_index",
        [schema, table],
    ).fetchall()
    if not rows:
        return None
    columns = {}
    for column, declared, default in rows:
        decimal = _DECIMAL.fullmatch(declared)
        kind = Kind.NUMERIC if decimal else _KINDS.get(declared, Kind.OTHER)
        filled = default is not None and default != "NULL"
        columns[column.lower()] = Column(column, kind, declared, filled, scale=int(decimal[2]) if decimal else 0)
    return Table(name, columns, _keys(connection, schema, table))


def _keys(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> list[frozenset[str]]:
    """Of constraints; of a table that a sink has made, by its comment."""
    where = (
        "where database_name = current_database() and lower(schema_name) = lower(?) and lower(table_name) = lower(?)"
    )
    found = connection.execute(f"select comment from duckdb_tables() {where}", [schema, table]).fetchone()
    if found and found[0] and str(found[0]).startswith(_KEY_COMMENT):
        names = msgspec.json.decode(found[0][len(_KEY_COMMENT) :], type=list[str])
        return [frozenset(name.lower() for name in names)]
    constraints = connection.execute(
        f"select constraint_column_names from duckdb_constraints() {where} "
        "and constraint_type in ('PRIMARY KEY', 'UNIQUE') order by constraint_type",
        [schema, table],
    ).fetchall()
    return [frozenset(name.lower() for name in names) for (names,) in constraints]


def change_table(connection: duckdb.DuckDBPyConnection, name: tuple[str, ...], change: Change) -> None:
    """Within a transaction. Raises NotChanged."""
    now = read_table(connection, name)
    if change.create != (now is None):
        return
    table = quoted_table(name)
    if change.create:
        if len(name) == 2:
            connection.execute(f"create schema if not exists {quoted(name[0])}")
        # Without a primary key: its index would make upserts many times slower, and no key is written twice anyway. The
        # comment keeps which columns they go by.
        columns = ", ".join(f"{quoted(column)} {declared}" for column, declared in change.add)
        connection.execute(f"create table {table} ({columns})")
        if change.key:
            comment = _KEY_COMMENT + msgspec.json.encode(list(change.key)).decode()
            connection.execute(f"comment on table {table} is '{comment.replace(chr(39), chr(39) * 2)}'")
        return
    for column, declared in change.add:
        connection.execute(f"alter table {table} add column if not exists {quoted(column)} {declared}")
    for widened, kind in change.widen:
        if now is not None and now.columns.get(widened.name.lower()) == widened:
            _widen(connection, table, widened, kind)


def _widen(connection: duckdb.DuckDBPyConnection, table: str, column: Column, kind: Kind) -> None:
    place = quoted(column.name)
    if column.kind in INTEGERS and kind in FLOATS:
        exact = f"{place} not between {-DOUBLE_EXACT} and {DOUBLE_EXACT}"
        if connection.execute(f"select 1 from {table} where {exact} limit 1").fetchone():
            raise NotChanged(column.name, "the table has integers that a DOUBLE would round")
    try:
        connection.execute(f"alter table {table} alter column {place} set data type {DIALECT.types[kind]}")
    except (duckdb.DataError, duckdb.DependencyException, duckdb.ProgrammingError, duckdb.NotSupportedError) as problem:
        raise NotChanged(column.name, str(problem).split("\n")[0]) from problem


def put(connection: duckdb.DuckDBPyConnection, load: Load) -> None:
    arrays = [_array(column, values) for column, values in zip(load.columns, load.data, strict=True)]
    # By number: Arrow's names are compared without regard to case as well.
    stage = pa.table(arrays, names=[f"c{number}" for number in range(len(arrays))])
    table = quoted_table(load.table.name)
    place = {column.name: f"cast(s.c{number} as {column.type})" for number, column in enumerate(load.columns)}
    same = " and ".join(f"t.{quoted(name)} = {place[name]}" for name in load.key)
    connection.register(STAGE, stage)
    names, casts, where = ", ".join(map(quoted, place)), ", ".join(place.values()), ""
    if load.action is Action.DELETE or (load.action is Action.UPSERT and not _partial(load)):
        connection.execute(f"delete from {table} t using {STAGE} s where {same}")
    elif load.key:
        where = f" where not exists (select 1 from {table} t where {same})"
        changes = ", ".join(f"{quoted(name)} = {cast}" for name, cast in place.items() if name not in load.key)
        if load.action is Action.UPSERT and changes:
            connection.execute(f"update {table} t set {changes} from {STAGE} s where {same}")
    if load.action is not Action.DELETE:
        connection.execute(f"insert into {table} ({names}) select {casts} from {STAGE} s{where}")
    connection.unregister(STAGE)


def _partial(load: Load) -> bool:
    """Whether the row has columns that stay as they are; otherwise it is deleted and inserted, which is faster."""
    return load.action is Action.UPSERT and len(load.columns) < len(load.table.columns)


def _array(column: Column, values: Value) -> Value:
    if column.kind is Kind.NUMERIC:
        rounded = [round(Decimal(repr(v)), column.scale) if type(v) is float else v for v in values]
        return pa.array(rounded, pa.decimal128(38, column.scale))
    if column.kind is Kind.UUID:
        values = [None if value is None else str(value) for value in values]
    return pa.array(values, _ARROW.get(column.kind, pa.string()))
