"""Rows by the time of their change, in PostgreSQL: as in SQLite, and with its own types."""

from __future__ import annotations

import pytest

from tests.connect.sql.conftest import PostgresDatabase
from tests.connect.sql.rows import Following
from tests.unit.connect.sql.test_timestamps import *  # noqa: F403  # tests


def test_the_delay_waits_for_transactions_that_began_earlier(postgres: PostgresDatabase) -> None:
    postgres.execute("create table orders (id int primary key, at timestamptz default now())")
    following = Following(postgres.source(tables=["orders"], timestamp="at", delay=600))
    with postgres.server.connect(postgres.name) as late:
        late.execute("begin")
        late.execute("insert into orders values (1)")
        postgres.execute("insert into orders values (2)")
        assert following.once() == []  # 2 is there, and too young
        late.execute("commit")
    postgres.execute("update orders set at = at - interval '601 seconds'")  # ten minutes later
    following.until(lambda: len(following.records) == 2, "both")
    assert following.values("id") == [1, 2]


def test_timestamp_and_increasing_column(postgres: PostgresDatabase) -> None:
    postgres.execute("create table orders (id uuid primary key default gen_random_uuid(), seq bigserial, at timestamp)")
    postgres.execute("insert into orders (at) select '2026-01-01' from generate_series(1, 20)")
    source = postgres.source(tables=["orders"], timestamp="at", increasing="seq", delay=3600)
    following = Following(source, most=7)
    following.until(lambda: len(following.records) == 20, "all")
    assert following.values("seq") == list(range(1, 21))
    assert set(following.records[0].key) == {"id"}
    # Without a time zone: by the zone of the definition. Half an hour from now there is an hour and a half ago here.
    postgres.execute("insert into orders (at) values (now() at time zone 'UTC' + interval '30 minutes')")
    assert following.once() == []
    elsewhere = postgres.source(tables=["orders"], timestamp="at", increasing="seq", delay=3600, timezone="Etc/GMT-2")
    assert sum(len(Following(elsewhere).once()) for _ in range(1)) == 21


def test_large_rows_end_a_page_early(postgres: PostgresDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.connect.connectors.sql.paging.PAGE_BYTES", 100_000)
    postgres.execute("create table orders (id int primary key, text text, at timestamp default now())")
    postgres.execute("insert into orders select n, repeat('x', 30000) from generate_series(1, 20) n")
    following = Following(postgres.source(tables=["orders"], increasing="id"))
    assert len(following.once()) == 4
    following.until(lambda: len(following.records) == 20, "all rows")
    assert following.values("id") == list(range(1, 21))


def test_types_of_postgresql(postgres: PostgresDatabase) -> None:
    postgres.execute("""
        create table orders (id int primary key, ip inet, span interval, tags text[], doc jsonb, raw bytea,
                             r int4range);
        insert into orders values (1, '10.0.0.1', '1 day', '{a,b}', '{"x": [1, null]}', '\\x00ff', '[1,5)')
    """)
    following = Following(postgres.source(tables=["orders"], increasing="id"))
    (found,) = following.once()
    assert found.value == {
        "id": 1,
        "ip": "10.0.0.1",
        "span": "1 day, 0:00:00",
        "tags": ["a", "b"],
        "doc": {"x": [1, None]},
        "raw": b"\x00\xff",
        "r": "[1,5)",
    }
