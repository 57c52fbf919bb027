"""Connections of one sink. Its writers, one a partition, borrow them for a batch: a topic of a hundred partitions does
not need a hundred connections."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from barnabas.connect.connectors.postgres.tables.errors import unavailable
from barnabas.connect.connectors.postgres.tables.session import PostgresSession
from barnabas.connect.connectors.relational.database import Database
from barnabas.connect.connectors.relational.model import Table
from barnabas.connect.errors import BadOption, Unavailable

_WAIT_S = 60
# A server that vanishes without a word (a machine gone, a firewall that forgets) is noticed in half a minute.
_LIVENESS = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}


class PostgresDatabase(Database):
    def __init__(
        self, url: str, password: str, offsets: tuple[str, ...], most: int, connect_s: float, lock_s: float
    ) -> None:
        super().__init__()
        try:
            parts = conninfo_to_dict(url, **({"password": password} if password else {}))
        except psycopg.ProgrammingError:  # its text has the whole URL, with a password in it
            raise BadOption(
                "option 'url' of postgres is not a URL of PostgreSQL",
                'Write it as "postgresql://user@host:5432/database"',
            ) from None
        self._parameters = {"application_name": "barnabas", **_LIVENESS, "connect_timeout": int(connect_s), **parts}
        where = f"{parts.get('host', 'localhost')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"
        self.name = f"PostgreSQL {where}"
        self._secret = str(parts.get("password") or "")
        self._offsets, self._lock_ms = offsets, int(lock_s * 1000)
        self._tables: dict[tuple[str, ...], Table] = {}
        self._free = threading.BoundedSemaphore(most)
        self._idle: list[psycopg.Connection] = []
        self._closed = False

    @contextmanager
    def session(self) -> Iterator[PostgresSession]:
        if not self._free.acquire(timeout=_WAIT_S):
            raise Unavailable(
                f"{self.name}: no connection has become free in {_WAIT_S} s", "Raise the option connections"
            )
        connection: psycopg.Connection | None = None
        kept = False
        try:
            connection = self._idle_or_new()
            yield PostgresSession(connection, self._offsets, self._tables, self._lock_ms)
            kept = connection.info.transaction_status is TransactionStatus.IDLE and not self._closed
            if kept:
                self._idle.append(connection)
        except psycopg.Error as problem:
            self._tables.clear()  # somebody may have changed or dropped one
            if connection is not None and connection.broken:
                self._close_idle()  # they have most likely lost their server too
            raise self._without_secret(unavailable(self.name, problem)) from None
        finally:
            if connection is not None and not kept:
                connection.close()
            self._free.release()

    def _idle_or_new(self) -> psycopg.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connect()

    def _connect(self) -> psycopg.Connection:
        # Prepared statements stay in a session, and behind PgBouncer the next transaction may have another.
        return psycopg.connect(autocommit=True, prepare_threshold=None, **self._parameters)  # type: ignore[arg-type]

    def _without_secret(self, problem: Unavailable) -> Unavailable:
        if not self._secret or self._secret not in str(problem):
            return problem
        return Unavailable(problem.message.replace(self._secret, "[hidden]"), problem.way_out)

    def close(self) -> None:
        self._closed = True
        self._close_idle()

    def _close_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()
