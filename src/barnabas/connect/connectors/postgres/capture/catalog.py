"""What the database has: tables with their keys, the publication, the replication slot."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from barnabas.connect.connectors.postgres.capture.connection import in_words
from barnabas.connect.connectors.postgres.capture.types import TypeFacts
from barnabas.connect.connectors.postgres.capture.wal import lsn_of
from barnabas.connect.errors import BadOption, Unavailable

TABLES_MAX = 10_000
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    name: str
    type_oid: int
    type_name: str  # as SQL writes it
    collation: str  # as SQL writes it; empty: the default


@dataclass(frozen=True, slots=True)
class TableFacts:
    oid: int
    schema: str
    name: str
    identity: str  # d, i, f, n: the replica identity
    columns: tuple[ColumnFacts, ...]  # those that are published
    keys: tuple[str, ...]  # of the replica identity; of the primary key if that is the whole row
    row_filter: str  # of the publication

    @property
    def label(self) -> str:
        return label(self.schema, self.name)

    @property
    def has_identity(self) -> bool:
        """An update or a delete names its row."""
        return self.identity == "f" or (self.identity != "n" and bool(self.keys))

    @property
    def quoted(self) -> sql.Composable:
        return sql.Identifier(self.schema, self.name)

    def column(self, name: str) -> ColumnFacts:
        return next(each for each in self.columns if each.name == name)


@dataclass(frozen=True, slots=True)
class SlotFacts:
    plugin: str
    database: str
    pid: int | None  # of who reads it
    restart_lsn: int
    confirmed_lsn: int
    is_lost: bool
    backlog: int  # bytes of log that it holds


def label(schema: str, table: str) -> str:
    """As a person writes it: public.orders, "a.b".orders."""
    return ".".join(f'"{part}"' if "." in part or '"' in part else part for part in (schema, table))


def pattern_parts(pattern: str) -> tuple[str, str]:
    """`public.orders`, `orders`, `sales.*`, `"a.b".orders`."""
    parts = [(quoted.replace('""', '"') or plain) for quoted, plain in _PART.findall(pattern)]
    if not 1 <= len(parts) <= 2 or _PART.sub("", pattern) not in ("", "."):
        raise BadOption(f"option 'tables' of postgres: {pattern!r} is no name of a table", "Write schema.table")
    return ("public", parts[0]) if len(parts) == 1 else (parts[0], parts[1])


def is_pattern(name: str) -> bool:
    return any(each in name for each in "*?[")


# --- tables ---------------------------------------------------------------------------------------------------------

_ALL_TABLES = """
select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and c.relpersistence = 'p' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  and not c.relispartition
order by 1, 2 limit %s
"""


def tables_wanted(connection: psycopg.Connection, patterns: Sequence[str]) -> list[tuple[str, str]]:
    """Schema and name of each. What is no pattern need not be there."""
    found: dict[tuple[str, str], None] = {}
    everything: list[tuple[str, str]] = []
    if any(is_pattern(each) for each in patterns):
        everything = [(row[0], row[1]) for row in connection.execute(_ALL_TABLES, [TABLES_MAX]).fetchall()]
    for each in patterns:
        schema, table = pattern_parts(each)
        if is_pattern(each):
            matching = [
                pair
                for pair in everything
                if fnmatch.fnmatchcase(pair[0], schema) and fnmatch.fnmatchcase(pair[1], table)
            ]
            found.update(dict.fromkeys(matching))
        else:
            found[schema, table] = None
    return list(found)


_TABLES = """
select c.oid::bigint, n.nspname, c.relname, c.relreplident::text,
  coalesce((
    select array_agg(a.attname::text order by k.place)
    from pg_index i
    cross join lateral unnest(i.indkey) with ordinality k(number, place)
    join pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
    where i.indrelid = c.oid and k.place <= i.indnkeyatts
      and case when c.relreplident = 'i' then i.indisreplident else i.indisprimary end
  ), '{}')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where (n.nspname, c.relname) in (select * from unnest(%s::text[], %s::text[])) and c.relkind in ('r', 'p')
"""
_COLUMNS = """
select a.attrelid::bigint, a.attname, a.atttypid::bigint, format_type(a.atttypid, a.atttypmod),
  coalesce((select quote_ident(n.nspname) || '.' || quote_ident(o.collname)
            from pg_collation o join pg_namespace n on n.oid = o.collnamespace
            where o.oid = a.attcollation and o.collname <> 'default'), '')
from pg_attribute a
where a.attrelid = any(%s::oid[]) and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
order by a.attrelid, a.attnum
"""
# Columns and rows that a publication leaves out: PostgreSQL 15 and later have these two columns in the view.
_PUBLISHED = """
select p.schemaname, p.tablename, to_jsonb(p) -> 'attnames', to_jsonb(p) ->> 'rowfilter'
from pg_publication_tables p where p.pubname = %s order by 1, 2 limit %s
"""


@dataclass(frozen=True, slots=True)
class Published:
    columns: frozenset[str] | None  # None: all of them
    row_filter: str


def published(connection: psycopg.Connection, publication: str) -> dict[tuple[str, str], Published]:
    rows = connection.execute(_PUBLISHED, [publication, TABLES_MAX]).fetchall()
    return {
        (row[0], row[1]): Published(frozenset(row[2]) if row[2] is not None else None, row[3] or "") for row in rows
    }


def table_facts(
    connection: psycopg.Connection,
    wanted: Iterable[tuple[str, str]],
    publication: Mapping[tuple[str, str], Published],
) -> dict[tuple[str, str], TableFacts]:
    pairs = list(wanted)
    rows = connection.execute(_TABLES, [[each[0] for each in pairs], [each[1] for each in pairs]]).fetchall()
    columns: dict[int, list[ColumnFacts]] = {}
    for oid, name, type_oid, type_name, collation in connection.execute(_COLUMNS, [[row[0] for row in rows]]):
        columns.setdefault(oid, []).append(ColumnFacts(name, type_oid, type_name, collation))
    found = {}
    for oid, schema, name, identity, keys in rows:
        given = publication.get((schema, name), Published(None, ""))
        kept = [each for each in columns.get(oid, []) if given.columns is None or each.name in given.columns]
        found[schema, name] = TableFacts(oid, schema, name, identity, tuple(kept), tuple(keys), given.row_filter)
    return found


def primary_key(connection: psycopg.Connection, schema: str, table: str) -> tuple[str, ...]:
    found = connection.execute(_TABLES, [[schema], [table]]).fetchone()
    return () if found is None else tuple(found[4])


def without_identity(table: TableFacts) -> Unavailable:
    """To be said before the table is published: PostgreSQL refuses updates and deletes of one that is published and has
    no replica identity, so the application would fail."""
    return Unavailable(
        f"table {table.label} has no primary key, so that its updates and deletes name no row",
        f"Give it one, or ALTER TABLE {table.label} REPLICA IDENTITY FULL",
    )


_TYPES = """
select oid::bigint, case when typlen = -1 and typcategory = 'A' then typelem::bigint else 0 end, typbasetype::bigint,
  typdelim::text
from pg_type where oid = any(%s::oid[])
"""


def type_facts(connection: psycopg.Connection, oids: Iterable[int]) -> dict[int, TypeFacts]:
    rows = connection.execute(_TYPES, [list(oids)]).fetchall()
    return {row[0]: TypeFacts(row[1], row[2], row[3].encode()) for row in rows}


# --- publication ----------------------------------------------------------------------------------------------------


def publication_exists(connection: psycopg.Connection, publication: str) -> bool:
    return connection.execute("select 1 from pg_publication where pubname = %s", [publication]).fetchone() is not None


def publish(connection: psycopg.Connection, publication: str, tables: Sequence[TableFacts]) -> set[str]:
    """Makes the publication, or adds to it what is missing. The names of the tables that it lacked."""
    there = published(connection, publication)
    missing = [each for each in tables if (each.schema, each.name) not in there]
    if not missing:
        return set()
    names = sql.SQL(", ").join(each.quoted for each in missing)
    if not publication_exists(connection, publication):
        statement = sql.SQL("create publication {} for table {} with (publish_via_partition_root = true)")
        doing = f"cannot make the publication {publication}"
    else:
        statement = sql.SQL("alter publication {} add table {}")
        doing = f"publication {publication} lacks {', '.join(each.label for each in missing)}"
    with in_words(doing):
        connection.execute(statement.format(sql.Identifier(publication), names))
    return {each.label for each in missing}


# --- slot -----------------------------------------------------------------------------------------------------------

_SLOT = """
select coalesce(plugin, '')::text, coalesce(database, '')::text, active_pid, coalesce(restart_lsn, '0/0')::text,
  coalesce(confirmed_flush_lsn, '0/0')::text,
  coalesce(wal_status = 'lost', false) or restart_lsn is null,
  coalesce(pg_wal_lsn_diff(
    case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, restart_lsn), 0)::bigint
from pg_replication_slots where slot_name = %s
"""


def slot_facts(connection: psycopg.Connection, slot: str) -> SlotFacts | None:
    row = connection.execute(_SLOT, [slot]).fetchone()
    if row is None:
        return None
    return SlotFacts(row[0], row[1], row[2], lsn_of(row[3]), lsn_of(row[4]), row[5], row[6])


def end_silent_reader(connection: psycopg.Connection, pid: int, application: str, silent_s: float) -> bool:
    """A worker whose machine is gone holds the slot until wal_sender_timeout. It is ended here if it is a reader of
    this connector, by its application name, and has reported nothing for long: one that lives reports every few
    seconds. The server shows that to its own role only with pg_read_all_stats; without it, the timeout is awaited."""
    row = connection.execute(
        "select pg_terminate_backend(pid) from pg_stat_replication where pid = %s and application_name = %s"
        " and usename = current_user and reply_time < now() - make_interval(secs => %s)",
        [pid, application, silent_s],
    ).fetchone()
    return row is not None
