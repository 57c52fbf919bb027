"""One connection: offsets, tables, and rows by COPY."""

from __future__ import annotations

import hashlib

import psycopg
from psycopg import sql

from barnabas.connect.connectors.postgres.tables.catalog import (
    CHANGES_LOCK,
    change_table,
    quoted,
    read_table,
)
from barnabas.connect.connectors.postgres.tables.errors import in_words, refuses_data
from barnabas.connect.connectors.relational.database import Owner, Session, Stored
from barnabas.connect.connectors.relational.model import Action, Change, Load, Table

_SAVEPOINT = "barnabas_rows"


class PostgresSession(Session):
    """Settings are made for each transaction, not for the session, and a temporary table may be gone at the next one:
    behind PgBouncer the next transaction may be another session of the server."""

    def __init__(
        self,
        connection: psycopg.Connection,
        offsets: tuple[str, ...],
        tables: dict[tuple[str, ...], Table],
        lock_timeout_ms: int,
    ) -> None:
        self._connection, self._offsets, self._tables = connection, offsets, tables
        self._begin = (
            f"begin; set local timezone to 'UTC'; set local lock_timeout to {lock_timeout_ms}; "
            "set constraints all immediate"  # a deferred one would fail the commit, and not say which row
        ).encode()
        self._staged: dict[str, bool] = {}  # temporary tables of this transaction, and whether they have rows

    def stored(self, owner: Owner) -> Stored | None:
        select = sql.SQL(
            "select next_offset, rejected from {} where connector = %s and topic = %s and partition = %s"
        ).format(quoted(self._offsets))
        try:
            found = self._connection.execute(select, [owner.connector, owner.topic, owner.partition]).fetchone()
        except psycopg.errors.UndefinedTable:
            self._create_offsets()
            return None
        return Stored(*found) if found else None

    def reset(self, owner: Owner, next_offset: int) -> None:
        self._connection.execute(
            sql.SQL(
                "insert into {} values (%s, %s, %s, %s, null) on conflict (connector, topic, partition) "
                "do update set next_offset = excluded.next_offset, rejected = null"
            ).format(quoted(self._offsets)),
            [owner.connector, owner.topic, owner.partition, next_offset],
        )

    def _create_offsets(self) -> None:
        self._connection.execute(self._begin)
        self._connection.execute("select pg_advisory_xact_lock(%s)", [CHANGES_LOCK])
        self._connection.execute(
            sql.SQL(
                "create table if not exists {} (connector text, topic text, partition integer, "
                "next_offset bigint not null, rejected text, primary key (connector, topic, partition))"
            ).format(quoted(self._offsets))
        )
        self._connection.execute("commit")

    def table(self, name: tuple[str, ...], fresh: bool = False) -> Table | None:
        found = None if fresh else self._tables.get(name)
        if found is None:
            found = read_table(self._connection, name)
            if found is None:
                self._tables.pop(name, None)
            else:
                self._tables[name] = found
        return found

    def change(self, name: tuple[str, ...], change: Change) -> None:
        self._connection.execute(self._begin)
        try:
            self._connection.execute("select pg_advisory_xact_lock(%s)", [CHANGES_LOCK])
            change_table(self._connection, name, change)
        except BaseException:
            if not self._connection.closed:
                self._connection.rollback()
            raise
        self._connection.execute("commit")

    def begin(self, owner: Owner, expected: int | None, next_offset: int) -> bool:
        self._staged.clear()
        self._connection.execute(self._begin)
        where = [owner.connector, owner.topic, owner.partition]
        if expected is None:
            insert = sql.SQL("insert into {} values (%s, %s, %s, %s, null) on conflict do nothing")
            moved = self._connection.execute(insert.format(quoted(self._offsets)), [*where, next_offset])
        else:
            update = sql.SQL(
                "update {} set next_offset = %s, rejected = null "
                "where connector = %s and topic = %s and partition = %s and next_offset = %s"
            )
            moved = self._connection.execute(update.format(quoted(self._offsets)), [next_offset, *where, expected])
        if moved.rowcount == 1:
            return True
        self.rollback()
        return False

    def commit(self, owner: Owner, rejected: str | None) -> None:
        if rejected is not None:
            update = sql.SQL("update {} set rejected = %s where connector = %s and topic = %s and partition = %s")
            self._connection.execute(
                update.format(quoted(self._offsets)), [rejected, owner.connector, owner.topic, owner.partition]
            )
        self._connection.execute("commit")

    def rollback(self) -> None:
        self._connection.rollback()

    def put(self, load: Load) -> str | None:
        name = "" if load.action is Action.APPEND else self._stage(load.table)
        self._connection.execute(f"savepoint {_SAVEPOINT}".encode())
        try:
            if load.action is Action.APPEND:
                self._copy(quoted(load.table.name), load)
            else:
                self._through_stage(load, sql.Identifier("pg_temp", name))
        except (psycopg.Error, UnicodeEncodeError) as problem:
            if self._connection.broken or not refuses_data(problem):
                raise
            self._connection.execute(f"rollback to savepoint {_SAVEPOINT}".encode())
            return in_words(problem)
        self._connection.execute(f"release savepoint {_SAVEPOINT}".encode())
        self._staged[name] = True
        return None

    def _copy(self, into: sql.Composable, load: Load) -> None:
        names = sql.SQL(", ").join(sql.Identifier(column.name) for column in load.columns)
        with (
            self._connection.cursor() as cursor,
            cursor.copy(sql.SQL("copy {} ({}) from stdin").format(into, names)) as copy,
        ):
            write_row = copy.write_row
            for row in zip(*load.data, strict=True):
                write_row(row)

    def _through_stage(self, load: Load, stage: sql.Identifier) -> None:
        self._copy(stage, load)
        names = [sql.Identifier(column.name) for column in load.columns]
        key = [sql.Identifier(name) for name in load.key]
        into, comma = quoted(load.table.name), sql.SQL(", ")
        if load.action is Action.DELETE:
            same = sql.SQL(" and ").join(sql.SQL("t.{} = s.{}").format(name, name) for name in key)
            self._connection.execute(sql.SQL("delete from {} t using {} s where {}").format(into, stage, same))
            return
        changed = [name for name in names if name not in key] if load.action is Action.UPSERT else []
        then: sql.Composable = sql.SQL("do nothing")
        if changed:
            then = sql.SQL("do update set {}").format(
                comma.join(sql.SQL("{} = excluded.{}").format(name, name) for name in changed)
            )
        # OVERRIDING: a key may be GENERATED ALWAYS AS IDENTITY, and the record's is the right one.
        self._connection.execute(
            sql.SQL("insert into {} ({}) overriding system value select {} from {} on conflict ({}) {}").format(
                into, comma.join(names), comma.join(names), stage, comma.join(key), then
            )
        )

    def _stage(self, table: Table) -> str:
        """The name of a temporary table, without rows, with the columns of this one and none of its constraints."""
        looks = repr((table.name, [(column.name, column.type) for column in table.columns.values()]))
        name = "barnabas_" + hashlib.sha256(looks.encode()).hexdigest()[:20]
        if self._staged.get(name):
            self._connection.execute(sql.SQL("truncate {}").format(sql.Identifier("pg_temp", name)))
        elif name not in self._staged:
            self._connection.execute(
                sql.SQL(
                    "create temporary table if not exists {} on commit delete rows as select * from {} with no data"
                ).format(sql.Identifier(name), quoted(table.name))
            )
        self._staged[name] = False
        return name
