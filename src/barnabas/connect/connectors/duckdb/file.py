"""The file: opened by one process at a time, written by one writer of it at a time."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from barnabas.connect.connectors.duckdb.tables import STAGE, change_table, put, read_table
from barnabas.connect.connectors.relational.database import OFFSETS, Database, Owner, Session, Stored
from barnabas.connect.connectors.relational.model import Change, Load, Table
from barnabas.connect.errors import Unavailable

_LENGTH_MAX = 300
_RELEASED_WAIT_S = 5
_LOCKED = re.compile(r"Conflicting lock is held in (?:.*/)?([^/ ]+) \(PID (\d+)\)")
_DATA = (
    duckdb.DataError,
    duckdb.IntegrityError,
    pa.ArrowInvalid,
    pa.ArrowTypeError,
    UnicodeEncodeError,
    ArithmeticError,
)
_OWNER = "connector = ? and topic = ? and partition = ?"


class DuckdbSession(Session):
    """DuckDB has no savepoints: a statement that fails ends the transaction. So the transaction is begun again then,
    with what was in it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, tables: dict[tuple[str, ...], Table]) -> None:
        self._connection, self._tables = connection, tables
        self._begun: tuple[Owner, int | None, int] | None = None
        self._done: list[Load] = []

    def stored(self, owner: Owner) -> Stored | None:
        self._connection.execute(
            f"create table if not exists {OFFSETS} (connector varchar, topic varchar, partition integer, "
            "next_offset bigint not null, rejected varchar, primary key (connector, topic, partition))"
        )
        found = self._connection.execute(
            f"select next_offset, rejected from {OFFSETS} where {_OWNER}",
            [owner.connector, owner.topic, owner.partition],
        ).fetchone()
        return Stored(*found) if found else None

    def reset(self, owner: Owner, next_offset: int) -> None:
        self._connection.execute(
            f"insert into {OFFSETS} values (?, ?, ?, ?, null) on conflict (connector, topic, partition) "
            "do update set next_offset = excluded.next_offset, rejected = null",
            [owner.connector, owner.topic, owner.partition, next_offset],
        )

    def table(self, name: tuple[str, ...], fresh: bool = False) -> Table | None:
        found = None if fresh else self._tables.get(name)
        if found is None and (found := read_table(self._connection, name)) is not None:
            self._tables[name] = found
        return found

    def change(self, name: tuple[str, ...], change: Change) -> None:
        self._connection.execute("begin")
        try:
            change_table(self._connection, name, change)
        except BaseException:
            self.rollback()
            raise
        self._connection.execute("commit")

    def begin(self, owner: Owner, expected: int | None, next_offset: int) -> bool:
        self._done.clear()
        self._begun = owner, expected, next_offset
        return self._begin()

    def _begin(self) -> bool:
        assert self._begun is not None
        owner, expected, next_offset = self._begun
        where = [owner.connector, owner.topic, owner.partition]
        self._connection.execute("begin")
        if expected is None:
            insert = f"insert into {OFFSETS} values (?, ?, ?, ?, null) on conflict do nothing returning 1"
            moved = self._connection.execute(insert, [*where, next_offset]).fetchall()
        else:
            update = (
                f"update {OFFSETS} set next_offset = ?, rejected = null where {_OWNER} and next_offset = ? returning 1"
            )
            moved = self._connection.execute(update, [next_offset, *where, expected]).fetchall()
        if moved:
            return True
        self.rollback()
        return False

    def put(self, load: Load) -> str | None:
        try:
            put(self._connection, load)
        except _DATA as problem:
            self.rollback()
            # The number cannot have moved: nobody else has the file, and within this process there is a lock.
            if not self._begin():
                raise Unavailable("the table of offsets has changed within a transaction") from problem
            for done in self._done:
                put(self._connection, done)
            return in_words(problem)
        # In one piece where they are parts of one: while bad rows are looked for, it is done again many times.
        joined = self._done[-1].joined(load) if self._done else None
        self._done[-1 if joined else len(self._done) :] = [joined or load]
        return None

    def commit(self, owner: Owner, rejected: str | None) -> None:
        if rejected is not None:
            update = f"update {OFFSETS} set rejected = ? where {_OWNER}"
            self._connection.execute(update, [rejected, owner.connector, owner.topic, owner.partition])
        self._connection.execute("commit")

    def rollback(self) -> None:
        with contextlib.suppress(duckdb.Error):  # there is none, after some errors
            self._connection.execute("rollback")
        with contextlib.suppress(duckdb.Error):  # it may have gone with the transaction
            self._connection.unregister(STAGE)


class DuckdbFile(Database):
    def __init__(self, path: Path, memory: str, threads: int, release: bool) -> None:
        super().__init__()
        self.name = f"DuckDB {path}"
        self._path, self._release = path, release
        self._settings: dict[str, str | bool | int | float | list[str]] = {"threads": threads}
        if memory:
            self._settings["memory_limit"] = memory
        self._tables: dict[tuple[str, ...], Table] = {}
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()

    @contextmanager
    def session(self) -> Iterator[DuckdbSession]:
        with self._lock:
            done = False
            try:
                if self._connection is None:
                    self._connection = self._open()
                    self._tables.clear()
                yield DuckdbSession(self._connection, self._tables)
                done = True
            except duckdb.Error as problem:
                raise self._unavailable(problem) from None
            finally:
                if self._release or not done:
                    self._close()

    def _open(self) -> duckdb.DuckDBPyConnection:
        """Where the file is released between batches, others have it for a moment now and then."""
        until = time.monotonic() + (_RELEASED_WAIT_S if self._release else 0)
        while True:
            try:
                return duckdb.connect(str(self._path), config=self._settings)
            except duckdb.IOException as problem:
                if time.monotonic() >= until or not _LOCKED.search(str(problem)):
                    raise
                time.sleep(0.05)

    def _unavailable(self, problem: duckdb.Error) -> Unavailable:
        if held := _LOCKED.search(str(problem)):
            return Unavailable(
                f"{self.name} is opened by another process ({held[1]}, pid {held[2]})",
                "DuckDB lets one process at a time have a file: end that one, or set release: true",
            )
        return Unavailable(f"{self.name}: {in_words(problem)}")

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(duckdb.Error):  # the file is what the last commit made it, either way
                self._connection.close()
            self._connection = None

    def close(self) -> None:
        with self._lock:
            self._close()


def in_words(problem: Exception) -> str:
    """The first line: what follows shows the statement."""
    return str(problem).strip().split("\n")[0][:_LENGTH_MAX]
