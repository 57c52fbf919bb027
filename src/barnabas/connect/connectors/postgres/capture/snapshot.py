"""Reads the rows that a table has: in the order of its key, in transactions of a minute at most, without holding up
writers.

Why nothing is missing and nothing comes twice. The slot exists before the first row is read, and it is read only after
the snapshot (or a part of it). Each range of keys is read at one snapshot of the database, and the position has that
snapshot as `pg_current_snapshot()` says it: the exact set of transactions that it contains. Of a change that comes from
the slot later it is therefore known whether the rows that were read have it already: then it is left out, else it
follows. That holds for any number of ranges, so a crash costs a new range at a new snapshot, no row again. A row that
is in no range yet will be read with the change, so the change is left out as well.

A transaction is decided by its id and not by LSNs, because it becomes visible a moment after its commit record is
written, and with synchronous replication that moment is as long as the standby takes. For the same reason the
transactions that run are awaited (Settling) before a snapshot is taken, when the table has just been published, or the
stream has moved since: everything that was written before, and that the stream has passed, is in the snapshot.

ACCESS SHARE, the lock of every SELECT, is held on the table while a transaction lasts. It is taken before the snapshot:
an ALTER TABLE that rewrites the table between the two would leave the snapshot an empty table.
"""

from __future__ import annotations

import datetime
import re
import select
import time
from collections.abc import Sequence

import psycopg
from psycopg import pq, sql

from barnabas.connect.connectors.postgres.capture.catalog import TableFacts, published, table_facts
from barnabas.connect.connectors.postgres.capture.connection import Server, in_words, unavailable
from barnabas.connect.connectors.postgres.capture.envelope import Envelope, Relation
from barnabas.connect.connectors.postgres.capture.pgoutput import Row, Steps, lenient
from barnabas.connect.connectors.postgres.capture.position import Range
from barnabas.connect.connectors.postgres.capture.wal import Visibility, lsn_of
from barnabas.connect.errors import Unavailable

RANGES_MAX = 32  # of a table; then the stream is read until their snapshots are behind it
_HOLD_S = 60.0  # a transaction: vacuum keeps what it could still see, and ALTER TABLE waits for it
_ROWS = 20_000  # of one query: few enough for an index scan, enough to make its start not count
_BYTES_MAX = 16 * 1024 * 1024  # of rows behind one chunk
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
_ESCAPED = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

# By the index of the key: a sort would begin with the whole table. The server ends what a reader holds that has stopped
# reading; a table that has to be read at one go, or of which few rows are published, gets all the time that it takes.
_BEGIN = """
begin isolation level repeatable read read only;
set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off;
set local lock_timeout = '10s';
set local idle_in_transaction_session_timeout = '{limit}'; set local statement_timeout = '{limit}'
"""
_LIMIT = "10min"


class Settling:
    """Whether every transaction has ended that was writing when this was made."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        with in_words("cannot ask for running transactions"):
            row = connection.execute("select pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
        assert row is not None
        self._xmax = int(row[0])

    def is_over(self) -> bool:
        with in_words("cannot ask for running transactions"):
            row = self._connection.execute("select pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
        assert row is not None
        return int(row[0]) >= self._xmax

    def culprit(self) -> str:
        """The oldest one, for a person who waits."""
        with in_words("cannot ask for running transactions"):
            row = self._connection.execute(
                "select pid, coalesce(application_name, ''), xact_start::text from pg_stat_activity"
                " where backend_xid is not null order by xact_start limit 1"
            ).fetchone()
        if row is None:
            return "a prepared transaction (pg_prepared_xacts)"
        return f"pid {row[0]} ({row[1]}), since {row[2]}"


class TableScan:
    """One table at one snapshot, from behind `last` on. `read` gives records; `range` says what has been read."""

    def __init__(self, server: Server, table: TableFacts, publication: str, last: tuple[str, ...] | None) -> None:
        self._last = last
        self._copying = self.is_whole = False
        self._rows_left = 0
        self._began = time.monotonic()
        self._connection = server.connect()
        self._poll = select.poll()
        self._poll.register(self._connection.fileno(), select.POLLIN)
        try:
            with in_words(f"cannot read table {table.label}"):
                self._begin(table, publication)
        except BaseException:
            self.close()
            raise

    def _begin(self, table: TableFacts, publication: str) -> None:
        connection = self._connection
        limit = _LIMIT if table.keys and not table.row_filter else "0"
        connection.execute(_BEGIN.format(limit=limit))
        connection.execute(sql.SQL("lock table {} in access share mode").format(table.quoted))
        row = connection.execute(
            "select pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text, now()"
        ).fetchone()
        assert row is not None
        self._text: str = row[0]
        self._lsn = lsn_of(row[1])
        self._moment: datetime.datetime = row[2]
        # Its columns may have changed since the table was last looked at. From here on they cannot.
        pair = (table.schema, table.name)
        now = table_facts(connection, [pair], published(connection, publication)).get(pair)
        if now is None or now.keys != table.keys or now.oid != table.oid:
            raise Unavailable(f"table {table.label} has another key now, or was made anew")
        self.table = now
        self._keys = [[each.name for each in now.columns].index(name) for name in now.keys]

    def uses(self, relation: Relation) -> None:
        """How its rows become records."""
        self._relation = relation

    def close(self) -> None:
        self._connection.close()

    @property
    def is_old(self) -> bool:
        """A new snapshot is due. A table without a key has to be read at one."""
        return bool(self._keys) and time.monotonic() - self._began > _HOLD_S

    @property
    def range(self) -> Range:
        return Range(None if self.is_whole else self._last, Visibility.of(self._text), self._text, self._lsn)

    def read(self, envelope: Envelope, most: int) -> None:
        """Appends records of up to `most` rows."""
        envelope.timestamp_ms = int(self._moment.timestamp() * 1000)
        size = 0
        pgconn = self._connection.pgconn
        while most > 0 and size < _BYTES_MAX and not self.is_whole:
            if not self._copying:
                self._start()
            try:
                length, view = pgconn.get_copy_data(1)
                if length == 0:
                    self._await_more()
                    continue
            except psycopg.OperationalError as problem:
                raise unavailable(f"cannot read table {self.table.label}", str(problem)) from None
            if length < 0:
                self._end()
                continue
            size += length
            most -= 1
            self._rows_left -= 1
            self._take(bytes(view), envelope)

    def _await_more(self) -> None:
        """Not in libpq, which would hold Python while the server looks for the next row: no other thread would run.
        The server's statement_timeout ends what takes too long, the socket's own timeouts a server that is gone."""
        self._poll.poll()
        self._connection.pgconn.consume_input()

    def _take(self, line: bytes, envelope: Envelope) -> None:
        texts: Sequence[bytes | None] = line[:-1].split(b"\t")
        if b"\\" in line:
            texts = [_unescaped(each) for each in texts if each is not None]
        try:
            row = _row(self._relation.steps, texts)
        except UnicodeDecodeError:
            row = _row(lenient(self._relation.steps), texts)
        envelope.read(self._relation, row, self._lsn)
        self._last = tuple((texts[each] or b"").decode() for each in self._keys)

    def _start(self) -> None:
        """A COPY, straight by libpq: rows come one by one, and no more of them are in memory than the socket holds."""
        statement = self._query().as_string(self._connection)
        pgconn = self._connection.pgconn
        result = pgconn.exec_(statement.encode())
        if result.status != pq.ExecStatus.COPY_OUT:
            said = result.error_message.decode("utf-8", "replace")
            raise unavailable(f"cannot read table {self.table.label}", said)
        self._copying, self._rows_left = True, _ROWS

    def _query(self) -> sql.Composable:
        table, keys = self.table, self.table.keys
        columns = sql.SQL(", ").join(sql.Identifier(each.name) for each in table.columns)
        conditions: list[sql.Composable] = []
        if table.row_filter:
            conditions.append(sql.SQL("({})").format(sql.SQL(table.row_filter)))
        if keys and self._last is not None:
            conditions.append(
                sql.SQL("({}) > ({})").format(
                    sql.SQL(", ").join(map(sql.Identifier, keys)), sql.SQL(", ").join(map(sql.Literal, self._last))
                )
            )
        query = sql.SQL("select {} from {}").format(columns, table.quoted)
        if conditions:
            query += sql.SQL(" where ") + sql.SQL(" and ").join(conditions)
        if keys:
            query += sql.SQL(" order by {} limit {}").format(
                sql.SQL(", ").join(map(sql.Identifier, keys)), sql.Literal(_ROWS)
            )
        return sql.SQL("copy ({}) to stdout").format(query)

    def _end(self) -> None:
        self._copying = False
        pgconn = self._connection.pgconn
        while (result := pgconn.get_result()) is not None:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                said = result.error_message.decode("utf-8", "replace")
                raise unavailable(f"cannot read table {self.table.label}", said)
        self.is_whole = not self._keys or self._rows_left > 0


def _row(steps: Steps, texts: Sequence[bytes | None]) -> Row:
    return {name: None if each is None else convert(each) for (name, convert), each in zip(steps, texts, strict=True)}


def _unescaped(field: bytes) -> bytes | None:
    r"""A value of COPY's text format: \N is NULL, and control characters and the backslash stand behind one."""
    if field == b"\\N":
        return None
    if b"\\" not in field:
        return field
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), field)
