"""What records look like: types, keys, large values, envelopes, tables that change."""

from __future__ import annotations

import datetime
import decimal
import uuid

import pytest

from barnabas.connect.errors import Unavailable
from tests.connect.postgres.capturing import Capture, Database

UTC = datetime.UTC

COLUMNS = {
    "small": ("smallint", "'-5'", -5),
    "large": ("bigint", "9223372036854775807", 2**63 - 1),
    "price": ("numeric(20,4)", "12345678901234.5", decimal.Decimal("12345678901234.5000")),
    "real": ("double precision", "0.1", 0.1),
    "no_number": ("double precision", "'NaN'", "NaN"),
    "reals": ("real[]", "'{1.5,-Infinity}'", [1.5, "-Infinity"]),
    "yes": ("bool", "true", True),
    "words": ("text", "E'tab\\tline\\nback\\\\slash \\u00e4 \\U0001F600'", "tab\tline\nback\\slash ä 😀"),
    "padded": ("char(5)", "'ab'", "ab   "),
    "plain": ("json", '\'{"b": [1, {"c": null}], "a": 1.5}\'', {"b": [1, {"c": None}], "a": 1.5}),
    "binary_json": ("jsonb", "'[true]'", [True]),
    "moment": ("timestamp", "'2024-05-06 07:08:09.012'", datetime.datetime(2024, 5, 6, 7, 8, 9, 12000)),
    "instant": (
        "timestamptz",
        "'2024-05-06 07:08:09+02'",
        datetime.datetime(2024, 5, 6, 5, 8, 9, tzinfo=UTC),
    ),
    "forever": ("timestamptz", "'infinity'", "infinity"),
    "day": ("date", "'2024-02-29'", datetime.date(2024, 2, 29)),
    "clock": ("time", "'07:08:09.5'", datetime.time(7, 8, 9, 500000)),
    "span": ("interval", "'1 day 02:00'", "P1DT2H"),
    "id": ("uuid", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11")),
    "raw": ("bytea", "'\\x5c004e'", b"\\\x00N"),
    "numbers": ("int[]", "'{{1,2},{3,NULL}}'", [[1, 2], [3, None]]),
    "strings": ("text[]", "ARRAY['a,b', 'c\"d', E'e\\\\f', NULL, '']", ["a,b", 'c"d', "e\\f", None, ""]),
    "days": ("date[]", "'{2024-01-01}'", [datetime.date(2024, 1, 1)]),
    "mood": ("mood", "'happy'", "happy"),
    "moods": ("mood[]", "'{happy,sad}'", ["happy", "sad"]),
    "percent": ("percent", "40", 40),
    "address": ("inet", "'10.0.0.1/8'", "10.0.0.1/8"),
    "between": ("int4range", "'[1,5)'", "[1,5)"),
    "nothing": ("int", "NULL", None),
    "word_n": ("text", "'\\N'", "\\N"),
}


def test_types_in_the_snapshot_and_in_the_stream(database: Database, capture: Capture) -> None:
    """The settings of the database say how dates and bytes look as text; the connection has its own."""
    database.execute("create type mood as enum ('sad', 'happy'); create domain percent as int check (value <= 100)")
    database.execute(
        f"alter database {database.name} set datestyle = 'SQL, DMY'; alter database {database.name} set timezone ="
        f" 'Asia/Tokyo'; alter database {database.name} set bytea_output = 'escape'"
    )
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in COLUMNS.items())
    database.execute(f"create table items (number int primary key, {columns})")
    values = ", ".join(text for _, text, _ in COLUMNS.values())
    database.execute(f"insert into items values (1, {values})")
    capture.read(1)
    database.execute(f"insert into items values (2, {values})")
    first, second = capture.read(2)
    wanted = {name: value for name, (_, _, value) in COLUMNS.items()}
    assert first.value == {"number": 1, **wanted}
    assert second.value == {"number": 2, **wanted}
    assert {name: type(value) for name, value in second.value.items()} == {
        name: type(value) for name, value in {"number": 2, **wanted}.items()
    }
    assert (first.key, first.topic) == ({"number": 1}, None)
    assert abs(second.timestamp_ms - datetime.datetime.now(UTC).timestamp() * 1000) < 60_000  # type: ignore[operator]


def test_upserts_tombstones_and_a_key_that_changes(database: Database, capture: Capture) -> None:
    database.execute(
        "create table items (a int, b text, c int, primary key (b, a)); insert into items values (1, 'x', 1)"
    )
    capture.read(1)
    database.execute("update items set c = 2")
    database.execute("update items set a = 5")
    database.execute("delete from items")
    found = [(each.key, each.value) for each in capture.read(5)]
    assert found == [
        ({"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 1}),
        ({"a": 1, "b": "x"}, {"a": 1, "b": "x", "c": 2}),
        ({"a": 1, "b": "x"}, None),
        ({"a": 5, "b": "x"}, {"a": 5, "b": "x", "c": 2}),
        ({"a": 5, "b": "x"}, None),
    ]
    assert {tuple(key) for key, _ in found} == {("a", "b")}, "one order of columns, or compaction sees two keys"


LARGE = "select string_agg(md5(i::text), '') from generate_series(1, 500) i"


def test_a_large_value_that_is_not_changed(database: Database, capture: Capture) -> None:
    """PostgreSQL does not send it; it must not look like NULL."""
    database.execute("create table items (id int primary key, n int, body text)")
    database.execute(f"insert into items values (1, 1, ({LARGE}))")
    body = capture.read(1)[0].value["body"]
    assert len(body) == 16_000
    database.execute("update items set n = 2")
    assert capture.read(2)[-1].value == {"id": 1, "n": 2, "body": "__debezium_unavailable_value"}
    database.execute("alter table items replica identity full")
    database.execute("update items set n = 3")
    assert capture.read(3)[-1].value == {"id": 1, "n": 3, "body": body}
    database.execute("update items set body = null")
    assert capture.read(4)[-1].value == {"id": 1, "n": 3, "body": None}


def test_debezium_envelope(database: Database) -> None:
    database.execute("create table items (id int primary key, name text); insert into items values (1, 'a')")
    capture = Capture(database, tables=["items"], envelope="debezium", truncate="event")
    capture.read(1)
    database.execute("insert into items values (2, 'b')")
    database.execute("update items set name = 'c' where id = 2")
    database.execute("delete from items where id = 2")
    database.execute("truncate items")
    found = capture.read(6)
    capture.close()
    changes = [
        (each.key, each.value and tuple(each.value[name] for name in ("op", "before", "after"))) for each in found
    ]
    assert changes == [
        ({"id": 1}, ("r", None, {"id": 1, "name": "a"})),
        ({"id": 2}, ("c", None, {"id": 2, "name": "b"})),
        ({"id": 2}, ("u", None, {"id": 2, "name": "c"})),
        ({"id": 2}, ("d", {"id": 2, "name": None}, None)),
        ({"id": 2}, None),
        (None, ("t", None, None)),
    ]
    sources = [each.value["source"] for each in found if each.value]
    assert [each["snapshot"] for each in sources] == ["true", "false", "false", "false", "false"]
    assert sources[1]["lsn"] < sources[2]["lsn"] < sources[3]["lsn"]
    assert sources[1]["txId"] < sources[2]["txId"] < sources[3]["txId"]
    assert (sources[0]["db"], sources[0]["table"], sources[0]["connector"]) == (database.name, "items", "postgresql")


def test_columns_that_come_go_and_change_type(database: Database, capture: Capture) -> None:
    database.execute("create table items (id int primary key, a text); insert into items values (1, 'x')")
    capture.read(1)
    database.execute("insert into items values (2, 'y')")
    database.execute("alter table items add b numeric default 7; insert into items values (3, 'z', 1.5)")
    database.execute("alter table items drop a; insert into items values (4, 2)")
    database.execute("alter table items alter b type text; insert into items values (5, 'five')")
    database.execute("alter table items rename b to c; insert into items values (6, 'six')")
    capture.read(6)
    capture.close()
    database.execute("alter table items add d int; insert into items values (7, 'seven', 7)")
    assert capture.read(7) and capture.values() == [
        {"id": 1, "a": "x"},
        {"id": 2, "a": "y"},
        {"id": 3, "a": "z", "b": decimal.Decimal("1.5")},
        {"id": 4, "b": decimal.Decimal(2)},
        {"id": 5, "b": "five"},
        {"id": 6, "c": "six"},
        {"id": 7, "c": "seven", "d": 7},
    ]


def test_a_table_without_a_key(database: Database) -> None:
    database.execute("create table items (a int, b text); insert into items values (1, 'x')")
    capture = Capture(database, tables=["items"])
    with pytest.raises(Unavailable, match="REPLICA IDENTITY FULL"):
        capture.open()
    database.execute("update items set b = 'y'")  # was not published: the application goes on
    database.execute("alter table items replica identity full")
    capture.read(1)
    database.execute("update items set b = 'z'")
    database.execute("delete from items")
    assert [(each.key, each.value) for each in capture.read(4)] == [
        ({"a": 1, "b": "y"}, {"a": 1, "b": "y"}),
        ({"a": 1, "b": "y"}, None),
        ({"a": 1, "b": "z"}, {"a": 1, "b": "z"}),
        ({"a": 1, "b": "z"}, None),
    ]
    capture.close()


def test_an_index_as_replica_identity(database: Database, capture: Capture) -> None:
    database.execute("create table items (id int primary key, code text not null, n int)")
    database.execute(
        "create unique index by_code on items (code); alter table items replica identity using index by_code"
    )
    database.execute("insert into items values (1, 'a', 1)")
    capture.read(1)
    database.execute("delete from items")
    assert [each.key for each in capture.read(2)] == [{"code": "a"}, {"code": "a"}]


def test_several_tables_and_new_ones(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.connect.connectors.postgres.capture.reader._WATCH_S", 0.1)
    database.execute(
        'create schema sales; create table sales.a (id int primary key); create table sales."b c" (id int primary key)'
    )
    database.execute("create table other (id int primary key)")
    database.execute("insert into sales.a values (1); insert into other values (1)")
    capture = Capture(database, tables=["sales.*"])
    capture.read(1)
    database.execute('insert into sales."b c" values (2); insert into other values (2)')
    capture.read(2)
    database.execute("create table sales.d (id int primary key); insert into sales.d values (3)")
    database.execute("create table sales.keyless (id int)")  # is left out
    capture.read(3)
    database.execute("insert into sales.d values (4)")
    capture.read(4)
    assert [(each.topic, each.key["id"]) for each in capture.records] == [
        ("sales.a", 1),
        ("sales.b_c", 2),
        ("sales.d", 3),
        ("sales.d", 4),
    ]
    capture.close()
    capture.options |= {"tables": ["sales.a", "other"], "topic": "all"}
    assert [each.key["id"] for each in capture.read(6)[4:]] == [1, 2], "a table that is captured from now on is read"
    assert capture.records[-1].topic == "all"
    database.execute('insert into sales."b c" values (7); insert into sales.a values (8)')
    assert capture.read(7)[-1].key == {"id": 8}
    capture.close()


def test_a_publication_of_somebody_else(database: Database) -> None:
    """Its rows and columns are all that is published, and tables that are added to it come by themselves."""
    database.execute("create table a (id int primary key, n int, secret text); create table b (id int primary key)")
    database.execute("insert into a values (1, 1, 's'), (2, -1, 's'); insert into b values (1)")
    database.execute("create publication theirs for table a (id, n) where (n > 0)")
    capture = Capture(database, publication="theirs", topic="{table}")
    capture.read(1)
    database.execute("insert into a values (3, -1, 's'), (4, 2, 's')")
    capture.read(2)
    assert capture.values() == [{"id": 1, "n": 1}, {"id": 4, "n": 2}]
    database.execute("alter publication theirs add table b")
    database.execute("insert into b values (2)")
    capture.read(4)
    database.execute("insert into b values (3)")
    assert [(each.topic, each.key["id"]) for each in capture.read(5)[2:]] == [("b", 1), ("b", 2), ("b", 3)]
    capture.close()


def test_a_partitioned_table_is_one_table(database: Database, capture: Capture) -> None:
    database.execute("create table items (id int primary key, n int) partition by range (id)")
    database.execute("create table low partition of items for values from (0) to (10)")
    database.execute("create table high partition of items for values from (10) to (20)")
    database.execute("insert into items values (1, 1), (11, 1)")
    capture.read(2)
    database.execute("insert into items values (2, 1)")
    database.execute("update items set id = 12 where id = 2")
    capture.read(5)
    assert capture.state() == {(1,): {"id": 1, "n": 1}, (11,): {"id": 11, "n": 1}, (12,): {"id": 12, "n": 1}}


def test_a_table_that_is_made_anew(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """DROP TABLE takes it out of the publication; the new one has to be read."""
    monkeypatch.setattr("barnabas.connect.connectors.postgres.capture.reader._WATCH_S", 0.1)
    database.execute(
        "create table a (id int primary key); create table b (id int primary key); insert into a values (1)"
    )
    capture = Capture(database, tables=["a", "b"])
    capture.read(1)
    database.execute("drop table a; insert into b values (1)")
    capture.read(2)  # the other table goes on
    database.execute("create table a (id text primary key); insert into a values ('x')")
    assert capture.read(3)[-1].key == {"id": "x"}
    capture.close()


def test_a_column_that_comes_while_the_table_is_read(
    database: Database, capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each range has the columns of its own time, and a key in other columns is begun with anew."""
    monkeypatch.setattr("barnabas.connect.connectors.postgres.capture.snapshot._HOLD_S", 0.0)
    database.execute("create table items (id int primary key, n int)")
    database.execute("insert into items select i, -i from generate_series(1, 30) i")
    capture.read(10, most=10)
    database.execute("alter table items add more text default 'x'")
    assert capture.read(20, most=10)[-1].value == {"id": 20, "n": -20, "more": "x"}
    database.execute("alter table items drop constraint items_pkey, add primary key (n)")
    with pytest.raises(Unavailable, match="another key"):
        capture.read(30)
    capture.close()
    capture.records.clear()
    assert sorted(each.key["n"] for each in capture.read(30)) == list(range(-30, 0))


def test_truncate_is_ignored(database: Database, capture: Capture) -> None:
    database.execute("create table items (id int primary key); insert into items values (1)")
    capture.read(1)
    database.execute("truncate items; insert into items values (2)")
    assert [each.key["id"] for each in capture.read(2)] == [1, 2]


def test_without_a_snapshot(database: Database) -> None:
    database.execute("create table items (id int primary key); insert into items values (1)")
    capture = Capture(database, tables=["items"], snapshot="never")
    capture.open()
    while not database.execute("select 1 from pg_replication_slots where confirmed_flush_lsn is not null"):
        capture.peek()
    database.execute("insert into items values (2)")
    assert capture.read(1)[0].key == {"id": 2}
    capture.close()
