"""Rows by a column that grows, in PostgreSQL: as in SQLite, and with transactions that commit late."""

from __future__ import annotations

import random
import threading

import pytest

from tests.connect.sql.conftest import PostgresDatabase
from tests.connect.sql.rows import Following
from tests.unit.connect.sql.test_increasing import *  # noqa: F403  # tests


def test_a_transaction_that_commits_late_is_not_missed(postgres: PostgresDatabase) -> None:
    postgres.execute("create table orders (id bigserial primary key, name text)")
    following = Following(postgres.source(tables=["orders"], increasing="id"))
    assert following.once() == []
    with postgres.server.connect(postgres.name) as first, postgres.server.connect(postgres.name) as late:
        late.execute("begin; insert into orders (name) values ('late 1')")  # 1, before any other was seen
        first.execute("insert into orders (name) values ('a'), ('b')")
        following.until(lambda: following.values("id") == [2, 3], "those that are there")
        other = postgres.server.connect(postgres.name)
        other.execute("begin; insert into orders (name) values ('rolled back'), ('late 5')")
        first.execute("insert into orders (name) values ('c')")
        following.until(lambda: following.values("id") == [2, 3, 6], "the next")
        following.restart()
        late.execute("commit")
        following.until(lambda: following.values("id") == [2, 3, 6, 1], "the first that was late")
        other.execute("delete from orders where name = 'rolled back'")
        other.execute("commit")
        other.close()
        following.until(lambda: following.values("id") == [2, 3, 6, 1, 5], "the other")
        following.restart()
        assert following.once() == [] and following.once() == []


def test_what_stays_missing_is_given_up_in_time(postgres: PostgresDatabase) -> None:
    postgres.execute("create table orders (id bigserial primary key)")
    following = Following(postgres.source(tables=["orders"], increasing="id", gap_timeout=0.3))
    with postgres.server.connect(postgres.name) as late:
        late.execute("begin; insert into orders default values")
        postgres.execute("insert into orders default values")
        following.until(lambda: following.values("id") == [2], "the second")
        assert following.position is not None and following.position["gaps"]
        following.until(lambda: "gaps" not in (following.position or {}), "the gap is given up")
        late.execute("commit")
    postgres.execute("insert into orders default values")
    following.until(lambda: following.values("id") == [2, 3], "only the third")


def test_waiting_for_transactions_keeps_the_order(postgres: PostgresDatabase) -> None:
    postgres.execute(
        "create table orders (id bigserial primary key, name text); insert into orders (name) values ('a')"
    )
    source = postgres.source(tables=["orders"], increasing="id", wait_for_transactions=True, gap_timeout=0)
    following = Following(source)
    following.until(lambda: following.values("id") == [1], "the first")
    with postgres.server.connect(postgres.name) as late:
        late.execute("begin; insert into orders (name) values ('late')")
        postgres.execute("insert into orders (name) values ('b')")
        assert [following.once() for _ in range(3)] == [[], [], []]
        late.execute("commit")
    following.until(lambda: following.values("id") == [1, 2, 3], "both, in order")


def test_writers_at_once(postgres: PostgresDatabase) -> None:
    """Four sessions insert in transactions of any length, some rolled back, while the rows are read and the reader is
    restarted: each row that was committed is there once."""
    postgres.execute("create table orders (id bigserial primary key, name text)")
    following = Following(postgres.source(tables=["orders"], increasing="id"), most=37)
    done = threading.Event()

    def insert(seed: int) -> None:
        choose = random.Random(seed)
        with postgres.server.connect(postgres.name) as connection:
            for _ in range(60):
                connection.execute("begin")
                for _ in range(choose.randrange(1, 6)):
                    connection.execute("insert into orders (name) values ('x')")
                    done.wait(choose.random() / 300)
                connection.execute("rollback" if choose.random() < 0.2 else "commit")

    writers = [threading.Thread(target=insert, args=(seed,)) for seed in range(4)]
    for each in writers:
        each.start()
    reads = 0
    while any(each.is_alive() for each in writers):
        following.once()
        reads += 1
        if reads % 7 == 0:
            following.restart()
    for each in writers:
        each.join()
    expected = {number for (number,) in postgres.execute("select id from orders")}
    following.until(lambda: len(following.records) >= len(expected), "all rows")
    following.once()
    found = following.values("id")
    assert sorted(found) == sorted(expected)
    assert found != sorted(found), "no transaction was late: the test has proved nothing"


def test_a_schema_that_changes(postgres: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.connect.connectors.sql.reader._LOOK_AGAIN_S", 0)
    postgres.execute("create schema shop; create table shop.orders (id int primary key, old text)")
    postgres.execute("insert into shop.orders values (1, 'x')")
    following = Following(postgres.source(tables=["shop.orders"], increasing="id"), "shop.orders")
    following.until(lambda: len(following.records) == 1, "the row")
    postgres.execute("alter table shop.orders add column new int default 7; alter table shop.orders drop column old")
    postgres.execute("insert into shop.orders (id) values (2)")
    following.until(lambda: len(following.records) == 2, "the next")
    assert following.records[1].value == {"id": 2, "new": 7}
