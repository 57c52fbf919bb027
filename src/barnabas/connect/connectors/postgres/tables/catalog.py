"""Reads what a table looks like, and changes it."""

from __future__ import annotations

import psycopg
from psycopg import sql

from barnabas.connect.connectors.postgres.tables.errors import in_words
from barnabas.connect.connectors.relational.database import NotChanged
from barnabas.connect.connectors.relational.kinds import DOUBLE_EXACT, FLOATS, INTEGERS, Dialect, Kind
from barnabas.connect.connectors.relational.model import Change, Column, Table

DIALECT = Dialect(
    types={
        Kind.BOOLEAN: "boolean",
        Kind.INT32: "integer",
        Kind.INT64: "bigint",
        Kind.NUMERIC: "numeric",
        Kind.FLOAT64: "double precision",
        Kind.TEXT: "text",
        Kind.JSON: "jsonb",
        Kind.BYTES: "bytea",
        Kind.TIMESTAMP: "timestamp",
        Kind.TIMESTAMPTZ: "timestamptz",
        Kind.DATE: "date",
        Kind.TIME: "time",
        Kind.UUID: "uuid",
    },
    exact=Kind.NUMERIC,
    reads_text=True,
    folds_case=False,
    name_bytes=63,
    reserved=frozenset(("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")),
    decimals=("numeric({},{})", 1000),
)
_KINDS = {
    "bool": Kind.BOOLEAN,
    "int2": Kind.INT16,
    "int4": Kind.INT32,
    "int8": Kind.INT64,
    "numeric": Kind.NUMERIC,
    "float4": Kind.FLOAT32,
    "float8": Kind.FLOAT64,
    "text": Kind.TEXT,
    "varchar": Kind.TEXT,
    "bpchar": Kind.TEXT,
    "json": Kind.JSON,
    "jsonb": Kind.JSON,
    "bytea": Kind.BYTES,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.TIMESTAMPTZ,
    "date": Kind.DATE,
    "time": Kind.TIME,
    "uuid": Kind.UUID,
}
# One lock for all changes of all sinks: CREATE TABLE IF NOT EXISTS of two sessions at once fails in one of them.
CHANGES_LOCK = 0x6261726E61626173
# A column that others depend on (a view, a generated column), values that do not fit the new type, a table that has had
# 1600 columns (also those that were dropped count).
_NOT_CHANGED = ("0A", "2B", "22", "54")

_COLUMNS = """
    select a.attname, format_type(a.atttypid, a.atttypmod), b.typname, b.typcategory = 'A',
           (a.atthasdef and a.attgenerated = '') or a.attidentity <> '', a.attgenerated <> ''
    from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    join pg_type b on b.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
    where a.attrelid = to_regclass(%s) and a.attnum > 0 and not a.attisdropped
    order by a.attnum"""
_KEYS = """
    select array_agg(a.attname::text), bool_or(a.attgenerated <> '')
    from pg_index i
    cross join unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) as k(number)
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
    where i.indrelid = to_regclass(%s) and i.indisunique and i.indimmediate and i.indisvalid
      and i.indpred is null and i.indexprs is null
    group by i.indexrelid, i.indisprimary
    order by i.indisprimary desc, i.indexrelid"""


def quoted(name: tuple[str, ...]) -> sql.Identifier:
    return sql.Identifier(*name)


def read_table(connection: psycopg.Connection, name: tuple[str, ...]) -> Table | None:
    text = quoted(name).as_string(connection)
    columns = [
        Column(column, Kind.ARRAY if array else _KINDS.get(base, Kind.OTHER), declared, filled, computed)
        for column, declared, base, array, filled, computed in connection.execute(_COLUMNS, [text])
    ]
    if not columns:
        found = connection.execute("select to_regclass(%s) is not null", [text]).fetchone()
        if not found or not found[0]:
            return None
    keys = [frozenset(names) for names, computed in connection.execute(_KEYS, [text]) if not computed]
    return Table(name, {column.name: column for column in columns}, keys)


def change_table(connection: psycopg.Connection, name: tuple[str, ...], change: Change) -> None:
    """Within a transaction, in which the lock has been taken. Raises NotChanged."""
    now = read_table(connection, name)
    if change.create or now is None:
        if change.create and now is None:
            _create(connection, name, change)
        return
    for column, declared in change.add:
        added = sql.SQL("add column if not exists {} {}").format(sql.Identifier(column), _declared(declared))
        _alter(connection, name, column, added)
    for widened, kind in change.widen:
        if now.columns.get(widened.name) == widened:
            _widen(connection, name, widened, kind)


def _create(connection: psycopg.Connection, name: tuple[str, ...], change: Change) -> None:
    if len(name) == 2:
        there = connection.execute("select to_regnamespace(quote_ident(%s)) is not null", [name[0]]).fetchone()
        if there and not there[0]:
            connection.execute(sql.SQL("create schema {}").format(sql.Identifier(name[0])))
    parts: list[sql.Composable] = [
        sql.SQL("{} {}").format(sql.Identifier(column), _declared(declared)) for column, declared in change.add
    ]
    for constraint, columns in (("primary key", change.key), ("unique", change.unique)):
        if columns:
            names = sql.SQL(", ").join(map(sql.Identifier, columns))
            parts.append(sql.SQL("{} ({})").format(_declared(constraint), names))
    connection.execute(sql.SQL("create table {} ({})").format(quoted(name), sql.SQL(", ").join(parts)))


def _declared(text: str) -> sql.SQL:
    """A type: of ours, or of the option types, which rules.py has checked."""
    return sql.SQL(text)


def _widen(connection: psycopg.Connection, name: tuple[str, ...], column: Column, kind: Kind) -> None:
    place = sql.Identifier(column.name)
    if column.kind in INTEGERS and kind in FLOATS:
        inexact = connection.execute(
            sql.SQL("select exists (select from {} where {} not between {} and {})").format(
                quoted(name), place, sql.Literal(-DOUBLE_EXACT), sql.Literal(DOUBLE_EXACT)
            )
        ).fetchone()
        if inexact and inexact[0]:
            kind = Kind.NUMERIC
    declared = _declared(DIALECT.types[kind])
    # Straight from double precision to numeric keeps 15 digits only; its text has all of them.
    through = sql.SQL("{}::text::{}") if column.kind in FLOATS else sql.SQL("{}::{}")
    changed = sql.SQL("alter column {} type {} using {}").format(place, declared, through.format(place, declared))
    _alter(connection, name, column.name, changed)


def _alter(connection: psycopg.Connection, name: tuple[str, ...], column: str, change: sql.Composed) -> None:
    try:
        connection.execute(sql.SQL("alter table {} {}").format(quoted(name), change))
    except psycopg.Error as problem:
        if (problem.sqlstate or "")[:2] in _NOT_CHANGED:
            raise NotChanged(column, in_words(problem)) from problem
        raise
