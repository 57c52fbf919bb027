"""Addresses, tables and columns that are not there, values of all types, and positions that go through JSON."""

from __future__ import annotations

import datetime
import json
import sqlite3
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

from barnabas.connect.connectors.sql.source import SqlSource
from barnabas.connect.connectors.sql.values import from_json, of_row, size, sqlite_boolean, sqlite_json, to_json
from barnabas.connect.contract import Value
from barnabas.connect.errors import BadOption, ConnectError, Unavailable
from tests.connect.sql.rows import Database, Following

SECRET = "not-to-be-shown"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "is not a URL of a database"),
        (f"postgresql://app:{SECRET}@host:port/x", "is not a URL of a database"),
        (f"nosuch://app:{SECRET}@host/x", "SQLAlchemy has no dialect 'nosuch'"),
        (f"oracle://app:{SECRET}@host/x", "oracle needs "),
    ],
)
def test_addresses_that_are_none(url: str, said: str) -> None:
    with pytest.raises(BadOption) as problem:
        SqlSource("x", {"url": url, "tables": ["orders"], "increasing": "id"})
    assert said in str(problem.value) and SECRET not in str(problem.value)


BY_ID = {"tables": ["orders"], "increasing": "id"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"url": "sqlite://", "increasing": "id"}, "'tables' or 'queries'"),
        ({"url": "sqlite://", "tables": ["a"]}, "set bulk: true"),
        ({"url": "sqlite://", "tables": ["a"], "bulk": True, "increasing": "id"}, "set bulk: true"),
        ({"url": f"mysql+pymysql://u:{SECRET}@x/y", **BY_ID}, "pip install pymysql"),
        ({"url": "sqlite://", **BY_ID, "timezone": "Mars/Olympus"}, "no time zone"),
        ({"url": "sqlite://", **BY_ID, "wait_for_transactions": True}, "PostgreSQL only"),
        ({"url": "sqlite://", **BY_ID, "topic": "{topic}"}, "more than {table}"),
        ({"url": "sqlite://", **BY_ID, "queries": {"orders": "select 1"}}, "a table and of a query"),
        ({"url": "sqlite://", **BY_ID, "intervall": 5}, "did you mean 'interval'"),
    ],
)
def test_options_that_cannot_work(options: dict[str, object], words: str) -> None:
    with pytest.raises(BadOption) as caught:
        SqlSource("orders", options)
    assert words in str(caught.value) and SECRET not in str(caught.value)


def problem_of(database: Database, **options: Value) -> str:
    source = database.source(**options)
    with pytest.raises(ConnectError) as problem:
        source.open(source.splits()[0], None).read(1, 0)
    return str(problem.value)


def test_tables_and_columns_that_are_not_there(database: Database) -> None:
    database.execute("create table orders (id integer primary key, name text)")
    assert "has no table nothing. Create it" in problem_of(database, tables=["nothing"], increasing="id")
    told = problem_of(database, tables=["orders"], increasing="number")
    assert "has no column number. It has: id, name" in told


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "rows.db").write_bytes(b"no database at all" * 100)
    source = SqlSource("x", {"url": f"sqlite:///{tmp_path}/rows.db", "tables": ["orders"], "increasing": "id"})
    with pytest.raises(Unavailable, match="file is not a database"):
        source.open("orders", None).read(10, 0)
    source.close()


def test_columns_keep_their_types(database: Database) -> None:
    columns = "day date, at timestamp, paid boolean, data json, raw blob, odd date"
    database.execute(f"create table orders (id integer primary key, {columns})")
    connection = sqlite3.connect(str(database.options["url"]).removeprefix("sqlite:///"))
    connection.execute(
        "insert into orders values (1, '2026-11-18', '2026-11-18 01:00:00', 1, '{\"a\": [1]}', x'ff00', 'someday')"
    )
    connection.commit()
    connection.close()
    following = Following(database.source(tables=["orders"], increasing="id"))
    following.until(lambda: len(following.records) == 1, "the row")
    assert following.records[0].value == {
        "id": 1,
        "day": datetime.date(2026, 11, 18),
        "at": datetime.datetime(2026, 11, 18, 1),
        "paid": True,
        "data": {"a": [1]},
        "raw": b"\xff\x00",
        "odd": "someday",  # SQLite keeps anything in any column
    }


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "text",
        1.5,
        datetime.datetime(2026, 11, 18, 1, tzinfo=datetime.UTC),
        datetime.date(2026, 11, 18),
        b"\xff",
        Decimal("12.50"),
        UUID(int=7),
    ],
)
def test_a_position_goes_through_json(value: Value) -> None:
    found = from_json(json.loads(json.dumps(to_json(value))))
    assert found == value and type(found) is type(value)


def test_a_column_that_has_no_order_of_ours() -> None:
    with pytest.raises(Unavailable, match="by a column whose values are of type timedelta"):
        to_json(datetime.timedelta(1))


def test_values_that_formats_do_not_know_are_text() -> None:
    class Range:
        def __str__(self) -> str:
            return "[1,5)"

    assert of_row(Range()) == "[1,5)" and of_row(bytearray(b"x")) == b"x" and of_row([1]) == [1]
    assert (size("abc"), size(b"ab"), size(7), size({"a": 1})) == (3, 2, 8, 8)
    assert (sqlite_boolean(1), sqlite_boolean("yes"), sqlite_json("{"), sqlite_json(7)) == (True, "yes", "{", 7)
