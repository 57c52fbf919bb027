"""Records that PostgreSQL does not take are named one by one; what every database refuses alike is imported."""

from __future__ import annotations

from tests.connect.relational.targets import PostgresTarget, record, write
from tests.unit.connect.relational.test_rejected import *  # noqa: F403  # tests


def test_a_column_that_cannot_be_widened_rejects(postgres: PostgresTarget) -> None:
    writer = postgres.sink().open("orders", 0)
    write(writer, [record(0, {"n": 1}, {"id": 1})])
    postgres.execute("create view depends as select n from orders")
    rejected = write(writer, [record(1, {"n": 1.5}, {"id": 2}), record(2, {"n": 2}, {"id": 3})])
    assert [offset for offset, _ in rejected] == [1]
    assert postgres.execute("select id, n from orders order by id") == [(1, 1), (3, 2)]


def test_errors_of_triggers_foreign_keys_and_deferred_constraints_name_their_record(postgres: PostgresTarget) -> None:
    postgres.execute("""
        create table customers (id bigint primary key);
        insert into customers values (1), (2);
        create table orders (id bigint primary key, customer bigint references customers deferrable initially deferred,
                             word varchar(5), nul text);
        create function refuse() returns trigger language plpgsql as
            $$ begin if new.word = 'evil' then raise exception 'no evil words'; end if; return new; end $$;
        create trigger t before insert or update on orders for each row execute function refuse();
    """)
    writer = postgres.sink().open("orders", 0)
    values = [
        {"customer": 1},
        {"customer": 7},
        {"word": "evil"},
        {"word": "too long"},
        {"nul": "a\0b"},
        {"customer": 2},
    ]
    rejected = dict(write(writer, [record(n, value, {"id": n}) for n, value in enumerate(values)]))
    assert sorted(rejected) == [1, 2, 3, 4]
    assert "foreign key" in rejected[1] and rejected[2] == "no evil words" and "too long" in rejected[3]
    assert postgres.execute("select id from orders order by id") == [(0,), (5,)]


def test_arrays_enums_and_identities(postgres: PostgresTarget) -> None:
    postgres.execute("""
        create type mood as enum ('ok', 'bad');
        create table orders (id bigint generated always as identity primary key, tags text[], mood mood, ip inet,
                             doubled bigint generated always as (id * 2) stored);
    """)
    writer = postgres.sink().open("orders", 0)
    value = {"tags": ["a", 'quo"te', None], "mood": "ok", "ip": "10.0.0.1", "doubled": 99}
    batch = [record(0, value, {"id": 7}), record(1, {**value, "mood": "furious"}, {"id": 8})]
    assert [offset for offset, _ in write(writer, batch)] == [1]
    found = postgres.execute("select id, tags, mood, host(ip), doubled from orders")
    assert found == [(7, ["a", 'quo"te', None], "ok", "10.0.0.1", 14)]


def test_keys_that_the_database_takes_for_one(postgres: PostgresTarget) -> None:
    """Two keys of a batch that differ in case only, in a column that ignores it: the second wins, nothing fails."""
    postgres.execute("create extension if not exists citext; create table orders (id citext primary key, n bigint)")
    writer = postgres.sink().open("orders", 0)
    assert write(writer, [record(0, {"n": 1}, {"id": "A"}), record(1, {"n": 2}, {"id": "a"})]) == []
    assert postgres.execute("select n from orders") == [(2,)]


def test_names_that_no_column_can_have(postgres: PostgresTarget) -> None:
    writer = postgres.sink().open("orders", 0)
    rejected = write(writer, [record(0, {"xmin": 1}, {"id": 1}), record(1, {"n": 1}, {"id": 2})])
    assert rejected == [(0, "field 'xmin': the database has a column of this name in every table")]


def test_a_table_that_has_had_too_many_columns(postgres: PostgresTarget) -> None:
    columns = ", ".join(f"c{n} int" for n in range(1590))
    drops = ", ".join(f"drop column c{n}" for n in range(1590))
    postgres.execute(f"create table orders (id bigint primary key, {columns}); alter table orders {drops}")
    writer = postgres.sink().open("orders", 0)
    rejected = write(writer, [record(n, {f"f{n}": n}, {"id": n}) for n in range(30)])
    assert [offset for offset, _ in rejected] == list(range(9, 30))
    assert "tables can have at most 1600 columns" in rejected[0][1]
