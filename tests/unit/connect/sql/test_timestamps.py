"""By a timestamp: new and changed rows, those of one moment told apart by the key; and whole tables."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from barnabas.connect.errors import Unavailable
from tests.connect.sql.rows import Database, Following, SqliteDatabase


def test_changes_are_read_and_moments_are_not_cut(database: Database) -> None:
    """Many rows of one moment, in pages that end within it."""
    database.execute("create table orders (id integer primary key, name text, changed timestamp)")
    rows = [f"({n}, 'n', '2026-01-01 00:00:0{n // 40}')" for n in range(200)]
    database.execute("insert into orders values " + ", ".join(rows))
    following = Following(database.source(tables=["orders"], timestamp="changed", delay=0), most=30)
    for _ in range(3):
        following.once()
        following.restart()
    following.until(lambda: len(following.records) >= 200, "all rows")
    assert following.values("id") == list(range(200))
    assert following.records[50].value["changed"] == datetime(2026, 1, 1, 0, 0, 1)
    assert following.records[50].timestamp_ms == datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC).timestamp() * 1000
    database.execute("update orders set name = 'new', changed = '2026-01-02 00:00:00.5' where id = 7")
    database.execute("update orders set changed = null where id = 8")
    following.until(lambda: len(following.records) == 201, "the change")
    assert following.records[200].value["name"] == "new" and following.records[200].key == {"id": 7}
    following.restart()
    assert following.once() == []
    behind = following.reader.behind()
    assert behind is not None and behind.seconds == 0


def test_rows_without_a_key_are_read_by_whole_moments(database: Database) -> None:
    database.execute("create table orders (n integer, at timestamp)")
    rows = [f"({n}, '2026-01-01 00:00:0{n // 25}')" for n in range(100)]
    database.execute("insert into orders values " + ", ".join(rows))
    following = Following(database.source(tables=["orders"], timestamp="at", delay=0), most=40)
    assert len(following.once()) == 25
    following.restart()
    following.most = 10
    following.until(lambda: len(following.records) >= 100, "all rows")
    assert sorted(following.values("n")) == list(range(100))
    assert following.records[0].key is None


def test_too_many_rows_of_one_moment(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.connect.connectors.sql.reader._SAME_TIME_MAX", 20)
    database.execute("create table orders (n integer, at timestamp)")
    database.execute("insert into orders values " + ", ".join(f"({n}, '2026-01-01 00:00:00')" for n in range(50)))
    following = Following(database.source(tables=["orders"], timestamp="at", delay=0), most=10)
    with pytest.raises(Unavailable, match=r"have the same at. Name a column"):
        following.once()


def test_bulk_reads_everything_again(database: Database) -> None:
    database.execute("create table orders (a integer, b text, n integer, primary key (a, b))")
    database.execute("insert into orders values " + ", ".join(f"({n % 3}, 'b{n:02d}', {n})" for n in range(30)))
    following = Following(database.source(tables=["orders"], bulk=True, interval=2), most=7)
    following.once()
    following.restart()
    following.until(lambda: len(following.records) >= 30, "one pass")
    assert sorted(following.values("n")) == list(range(30))
    assert following.position is not None and following.position["passes"] == 1
    following.restart()
    assert following.once() == []  # the interval goes on
    database.execute("delete from orders where n < 10")
    following.until(lambda: len(following.records) >= 50, "a second pass")
    assert sorted(following.values("n")[30:]) == list(range(10, 30))
    assert following.records[0].key == {"a": 0, "b": "b00"}


def test_bulk_of_a_table_without_a_key(database: Database) -> None:
    database.execute("create table orders (n integer)")
    database.execute("insert into orders values " + ", ".join(f"({n})" for n in range(1200)))
    following = Following(database.source(tables=["orders"], bulk=True, interval=0.2), most=100)
    following.until(lambda: (following.position or {}).get("passes") == 1, "one pass")
    assert sorted(following.values("n")) == list(range(1200))
    following.until(lambda: len(following.records) > 1200, "another")
    following.restart()
    database.execute("drop table orders")


def test_sqlite_keeps_anything_in_any_column(tmp_path: object) -> None:
    from pathlib import Path

    assert isinstance(tmp_path, Path)
    database = SqliteDatabase(tmp_path / "rows.db")
    database.execute("create table orders (id integer primary key, at datetime, ok boolean, doc json, price numeric)")
    database.execute(
        """insert into orders values (1, '2026-01-01T00:00:00', 1, '{"a": 1}', 1.5), (2, 'later', 7, '{', 2)"""
    )
    following = Following(database.source(tables=["orders"], increasing="id"))
    one, two = following.once()
    assert one.value == {"id": 1, "at": datetime(2026, 1, 1), "ok": True, "doc": {"a": 1}, "price": 1.5}
    assert two.value == {"id": 2, "at": "later", "ok": 7, "doc": "{", "price": 2}
    # The two ways in which SQLite writes times do not sort alike as text; rows of one moment are still told apart.
    database.execute("create table times (id integer primary key, at datetime default current_timestamp)")
    database.execute(
        "insert into times (at) values ('2026-01-01 00:00:00'), ('2026-01-01 00:00:00'), ('2026-01-01 00:00:00')"
    )
    by_time = Following(database.source(tables=["times"], timestamp="at"), "times", most=1)
    for _ in range(3):
        assert len(by_time.once()) == 1
        by_time.restart()
    assert by_time.once() == [] and by_time.values("id") == [1, 2, 3]
    database.execute("insert into times default values")
    assert by_time.once() == []  # younger than the delay
    database.close()
