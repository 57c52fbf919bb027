"""What PostgreSQL can say no to, in one clear line, without the password, and on again when it is mended."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from barnabas.connect.connectors.postgres.sink import PostgresSink
from barnabas.connect.errors import ConnectError, Unavailable
from tests.connect.relational.targets import PostgresTarget, record, write
from tests.support.members import until
from tests.support.postgres import PASSWORD
from tests.support.process import free_port

WRONG = "not-the-password"


@contextmanager
def says(*words: str) -> Iterator[None]:
    with pytest.raises(Unavailable) as caught:
        yield
    problem: BaseException | None = caught.value
    text = str(problem)
    assert all(word in text for word in words), text
    assert "\n" not in text and len(text) < 500
    while problem is not None:  # whatever a log shows of it
        assert PASSWORD not in repr(problem) and WRONG not in repr(problem)
        problem = problem.__cause__


def test_a_wrong_password_and_a_new_one(postgres: PostgresTarget) -> None:
    postgres.execute("create role app login password 'not-the-password-at-all'")
    options = {"url": postgres.server.url(postgres.database, "app"), "password": WRONG}
    sink = PostgresSink("orders", options)
    with says('password authentication failed for user "app"', "Check the user in url, and password"):
        sink.open("orders", 0)
    postgres.execute(f"alter role app password '{WRONG}'; grant create on schema public to app")
    assert write(sink.open("orders", 0), [record(0, {"n": 1}, {"id": 1})]) == []
    sink.close()


def test_a_password_within_the_url_is_not_shown() -> None:
    port = free_port()
    sink = PostgresSink("orders", {"url": f"postgresql://app:{WRONG}@127.0.0.1:{port}/shop"})
    with says(f"PostgreSQL 127.0.0.1:{port}/shop", "refused"):
        sink.open("orders", 0)
    assert WRONG not in repr(sink)


def test_a_database_that_is_not_there(postgres: PostgresTarget) -> None:
    sink = postgres.sink(url=postgres.server.url("nowhere"))
    with says('database "nowhere" does not exist'):
        sink.open("orders", 0)


def test_a_user_without_rights(postgres: PostgresTarget) -> None:
    postgres.execute(f"create role reader login password '{WRONG}'")
    sink = postgres.sink(url=postgres.server.url(postgres.database, "reader"), password=WRONG)
    with says("permission denied for schema public", "Grant the user this right"):
        sink.open("orders", 0)
    postgres.execute("grant create on schema public to reader")
    assert write(sink.open("orders", 0), [record(0, {"n": 1}, {"id": 1})]) == []


def test_too_many_connections(postgres: PostgresTarget) -> None:
    postgres.execute(
        f"create role one login password '{WRONG}' connection limit 1; grant create on schema public to one"
    )
    sink = postgres.sink(url=postgres.server.url(postgres.database, "one"), password=WRONG)
    with postgres.server.connect(postgres.database, "one", WRONG), says("too many connections", "option connections"):
        sink.open("orders", 0)
    until(lambda: postgres.execute("select 1 from pg_stat_activity where usename = 'one'") == [], "the other has left")
    # Many writers of one sink are content with one connection.
    few = postgres.sink(url=postgres.server.url(postgres.database, "one"), password=WRONG, connections=1)
    writers = [few.open("orders", partition) for partition in range(5)]
    assert all(write(writer, [record(0, {"n": 1}, {"id": 1})]) == [] for writer in writers)


def test_a_lock_that_somebody_holds(postgres: PostgresTarget) -> None:
    writer = postgres.sink(lock_timeout=0.2).open("orders", 0)
    assert write(writer, [record(0, {"n": 1}, {"id": 1})]) == []
    with postgres.server.connect(postgres.database) as other:
        other.execute("begin; lock table orders in access exclusive mode")
        with says("lock timeout", "Another session holds a lock"):
            write(writer, [record(1, {"n": 2}, {"id": 1})])
    assert write(writer, [record(1, {"n": 3}, {"id": 1})]) == []
    assert postgres.execute("select n from orders") == [(3,)]


def test_a_table_without_the_key(postgres: PostgresTarget) -> None:
    postgres.execute("create table orders (id bigint, n bigint)")
    writer = postgres.sink().open("orders", 0)
    with says("no unique or exclusion constraint", "ADD PRIMARY KEY"):
        write(writer, [record(0, {"n": 1}, {"id": 1})])
    postgres.execute("alter table orders add primary key (id)")
    assert write(writer, [record(0, {"n": 1}, {"id": 1})]) == []


def test_a_table_that_is_dropped_comes_back(postgres: PostgresTarget) -> None:
    writer = postgres.sink().open("orders", 0)
    write(writer, [record(0, {"n": 1}, {"id": 1})])
    postgres.execute("drop table orders")
    with says('relation "orders" does not exist'):
        write(writer, [record(1, {"n": 2}, {"id": 2})])
    assert write(writer, [record(1, {"n": 2}, {"id": 2})]) == []


def test_a_table_that_nobody_may_create(postgres: PostgresTarget) -> None:
    writer = postgres.sink(create=False).open("orders", 0)
    with says("there is no table orders", "create: true"):
        write(writer, [record(0, {"n": 1}, {"id": 1})])


def test_a_server_that_does_not_write(postgres: PostgresTarget) -> None:
    writer = postgres.sink(mode="append").open("orders", 0)
    write(writer, [record(0, {"n": 1})])
    postgres.execute(f"alter database {postgres.database} set default_transaction_read_only = on")
    other = postgres.sink(mode="append").open("orders", 0)
    with says("read-only transaction", "standby"):
        write(other, [record(1, {"n": 2})])


def test_connections_that_the_server_ends(postgres: PostgresTarget) -> None:
    writer = postgres.sink(mode="append").open("orders", 0)
    write(writer, [record(0, {"n": 0})])
    postgres.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'barnabas'")
    with says("terminating connection due to administrator command"):
        write(writer, [record(1, {"n": 1})])
    assert write(writer, [record(1, {"n": 1})]) == []
    assert postgres.execute("select count(*) from orders") == [(2,)]


class LosesAnswers:
    """Forwards a connection to the server, and on request closes it when a commit has been sent, before its answer."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.lose = False
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def _run(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        thread.start()
        self._threads.append(thread)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._server))
            committed = threading.Event()
            self._run(self._forward, client, server, committed, True)
            self._run(self._forward, server, client, committed, False)

    def _forward(self, source: socket.socket, sink: socket.socket, committed: threading.Event, asks: bool) -> None:
        with source, sink:
            while True:
                try:
                    data = source.recv(65536)
                    if asks and self.lose and b"commit" in data:
                        committed.set()
                    elif not asks and committed.is_set():
                        data = b""
                    if not data:
                        sink.shutdown(socket.SHUT_RDWR)
                        return
                    sink.sendall(data)
                except OSError:
                    return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)


def test_a_commit_whose_answer_is_lost_is_not_written_twice(postgres: PostgresTarget) -> None:
    between = LosesAnswers(postgres.server.port)
    url = f"postgresql://postgres@127.0.0.1:{between.port}/{postgres.database}"
    sink = postgres.sink(url=url, mode="append")
    try:
        writer = sink.open("orders", 0)
        write(writer, [record(0, {"n": 0})])
        between.lose = True
        with pytest.raises(ConnectError):
            write(writer, [record(1, {"n": 1})])
        between.lose = False
        assert postgres.execute("select n from orders order by n") == [(0,), (1,)]
        assert sink.open("orders", 0).next_offset() == 2
        assert write(writer, [record(1, {"n": 1}), record(2, {"n": 2})]) == []
        assert postgres.execute("select n from orders order by n") == [(0,), (1,), (2,)]
    finally:
        sink.close()
        between.close()


def test_full_disk_is_not_the_fault_of_a_record() -> None:
    from barnabas.connect.connectors.postgres.tables.errors import refuses_data, unavailable

    assert not refuses_data(psycopg.errors.DiskFull())
    assert "Free space" in str(unavailable("PostgreSQL x", psycopg.errors.DiskFull("could not extend file")))
