"""By an increasing column: every row once, also those whose transaction commits after later numbers were read."""

from __future__ import annotations

import pytest

from barnabas.connect.errors import Unavailable
from tests.connect.sql.rows import Database, Following


def test_rows_in_pages_with_restarts(database: Database) -> None:
    database.execute("create table orders (id integer primary key, name text)")
    database.execute("insert into orders values " + ", ".join(f"({n}, 'n{n}')" for n in range(1, 251)))
    following = Following(database.source(tables=["orders"], increasing="id"), most=40)
    for _ in range(4):
        assert len(following.once()) == 40
        following.restart()
    following.until(lambda: len(following.records) >= 250, "all rows")
    assert following.values("id") == list(range(1, 251))
    first = following.records[0]
    assert first.key == {"id": 1} and first.value == {"id": 1, "name": "n1"} and first.topic is None
    assert following.once() == []
    database.execute("insert into orders values (251, 'new')")
    following.until(lambda: len(following.records) == 251, "the new row")


def test_deleted_and_changed_rows_are_not_told(database: Database) -> None:
    database.execute("create table orders (id integer primary key, name text)")
    database.execute("insert into orders values (1, 'a'), (2, 'b'), (3, 'c')")
    following = Following(database.source(tables=["orders"], increasing="id"))
    following.until(lambda: len(following.records) == 3, "the rows")
    database.execute("delete from orders where id = 2")
    database.execute("update orders set name = 'changed' where id = 1")
    database.execute("insert into orders values (4, 'd')")
    following.until(lambda: len(following.records) == 4, "the new one")
    assert following.values("id") == [1, 2, 3, 4]


def test_increasing_text_and_queries(database: Database) -> None:
    database.execute("create table orders (code text, n integer)")
    database.execute("insert into orders values ('a1', 1), ('a2', 2), ('b:1', 30)")
    query = "select code, n as \"N\", 'time 10:30' as t from orders where n < 25 or code like 'b:%'"
    following = Following(
        database.source(queries={"by code": query}, increasing="code", topic="x-{table}"), "by code", 2
    )
    following.until(lambda: len(following.records) == 3, "the rows")
    assert [record.value for record in following.records][::2] == [
        {"code": "a1", "N": 1, "t": "time 10:30"},
        {"code": "b:1", "N": 30, "t": "time 10:30"},
    ]
    assert following.records[0].key == {"code": "a1"} and following.records[0].topic == "x-by code"


def test_tables_by_pattern_come_and_go(database: Database) -> None:
    for name in ("orders_a", "orders_b", "other"):
        database.execute(f"create table {name} (id integer primary key)")
    source = database.source(tables=["orders_*", "other"], increasing="id")
    assert list(source.splits()) == ["orders_a", "orders_b", "other"]
    database.execute("create table orders_c (id integer primary key)")
    database.execute("drop table orders_a")
    assert list(source.splits()) == ["orders_b", "orders_c", "other"]


def test_another_column_than_before_is_said(database: Database) -> None:
    database.execute("create table orders (id integer primary key, other integer)")
    database.execute("insert into orders values (1, 5)")
    following = Following(database.source(tables=["orders"], increasing="id"))
    following.until(lambda: len(following.records) == 1, "the row")
    with pytest.raises(Unavailable, match="was read by id so far, and is to be read by other now"):
        database.source(tables=["orders"], increasing="other").open("orders", following.position)
