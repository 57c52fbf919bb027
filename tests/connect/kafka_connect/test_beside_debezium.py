"""The same history of a PostgreSQL, captured by Debezium on the real Kafka Connect and by our own source with
`envelope: debezium`, compared record by record: order, key, op, before, after, transaction and place in the log.

Values that both have in another form are the same by the rules of beside.py; those that are not are in EDGES.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.connect.kafka_connect.beside import Json, Schema, differences
from tests.connect.kafka_connect.changes import TABLE, Changes, debezium
from tests.support.connect import ConnectWorker, all_records, written
from tests.support.kafka_connect import KafkaConnectWorker
from tests.support.members import until
from tests.support.postgres import PASSWORD, Postgres
from tests.support.process import ServerProcess
from tests.support.servers import BarnabasNode

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

# Types that both have, with a value each.
TYPES = {
    "bool": "true",
    "int2": "-32768",
    "int4": "2147483647",
    "int8": "9223372036854775807",
    "oid": "4000000000",
    "float4": "1.1",
    "float8": "0.1",
    "numeric(12,4)": "-123.4500",
    "numeric": "12345678901234567890.123",
    "money": "'1234.56'",
    "text": "'naïve 😀'",
    "varchar(20)": "''",
    "char(6)": "'ab'",
    "citext": "'MiXed'",
    "bytea": r"'\x00ff10'",
    "date": "'2024-02-29'",
    "time": "'12:34:56.789012'",
    "time(3)": "'12:34:56.789'",
    "timetz": "'12:34:56.789012+02'",
    "timestamp": "'2024-02-29 12:34:56.789012'",
    "timestamp(3)": "'1969-12-31 23:59:59.999'",
    "timestamptz": "'2024-02-29 12:34:56+02'",
    "interval": "'1 year -2 mons 3 days -04:05:06.7'",
    "uuid": "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'",
    "json": """'{"a": 1.10,  "b":null}'""",
    "jsonb": """'{"b":[1,2],"a":"é"}'""",
    "xml": "'<a>b</a>'",
    "inet": "'10.0.0.1/24'",
    "cidr": "'2001:db8::/32'",
    "macaddr": "'08:00:2b:01:02:03'",
    "bit(1)": "B'1'",
    "bit(12)": "B'101000000001'",
    "varbit": "B'101'",
    "point": "'(1,-2.5)'",
    "int4range": "'[1,5)'",
    "tstzrange": "'[2024-01-01 00:00:00+00,)'",
    "tsvector": "'a:1 b:2'",
    "hstore": "'a=>1,b=>NULL'",
    "mood": "'ok'",
    "positive": "5",
    "int[]": "'{1,NULL,3}'",
    "text[]": """'{a,"b c",NULL,"q\\"uote"}'""",
    "numeric[]": "'{1.5,2}'",
    "date[]": "'{2024-01-01}'",
    "timestamptz[]": "'{2024-01-01 00:00:00+00}'",
    "bytea[]": r"""'{"\\x01ff"}'""",
}

NOTHING = None
# Where the two differ in more than form: type, value, ours, Debezium's. docs/connectors/kafka-connect.md has them.
EDGES: tuple[tuple[str, str, Json, Json], ...] = (
    ("name", "'item'", "item", NOTHING),
    ("date", "'infinity'", "infinity", -2147472692),
    ("date", "'0044-03-15 BC'", "0044-03-15 BC", -735160),
    ("timestamp", "'infinity'", "infinity", 9223372036825200000),
    ("timestamp", "'10000-01-01 00:00:00'", "10000-01-01 00:00:00", 253402300800000000),
    ("timestamptz", "'infinity'", "infinity", "infinity"),
    ("timestamptz", "'12024-01-01 00:00+00'", "12024-01-01 00:00:00+00", "+12024-01-01T00:00:00.000000Z"),
    ("time", "'24:00:00'", "24:00:00", 86400000000),
    ("numeric", "'NaN'", "NaN", NOTHING),
    ("numeric", "'Infinity'", "Infinity", NOTHING),
    ("float8", "'NaN'", NOTHING, "NaN"),
    ("float8", "'-Infinity'", NOTHING, "-Infinity"),
    ("json", "'null'", NOTHING, "null"),
    ("varbit", "B'0101'", "0101", "BQ=="),
)


def columns(types: list[str]) -> str:
    return ", ".join(f"c{number} {each}" for number, each in enumerate(types))


def values(given: list[str]) -> str:
    return ", ".join(given)


@dataclass(frozen=True)
class Event:
    key: Json
    value: Json  # None: a tombstone
    schema: Schema  # of a row, where it is Debezium's


class Both:
    """Two captures of one database."""

    def __init__(self, database: Postgres, node: ServerProcess) -> None:
        self.database, self._node = database, node

    def events(self, table: str) -> tuple[list[Event], list[Event]]:
        """Ours and theirs, when both have come to the end of the log."""
        mark = self.database.execute("insert into marks default values returning id")[0][0]
        for who in ("ours", "theirs"):
            until(lambda who=who: mark in self._marks(who), f"{who} has come to the end", 60)  # type: ignore[misc]
        return self._read("ours", table), self._read("theirs", table)

    def _marks(self, who: str) -> set[int]:
        return {each.key["id"] for each in self._read(who, "marks")}

    def _read(self, who: str, table: str) -> list[Event]:
        return [_event(each.key(), each.value()) for each in all_records(self._node.bootstrap, f"{who}.public.{table}")]


def _event(key: bytes | None, value: bytes | None) -> Event:
    found, told = (None if each is None else json.loads(each) for each in (key, value))
    if isinstance(found, dict) and "schema" in found:
        found = found["payload"]
    if not isinstance(told, dict) or "schema" not in told:
        return Event(found, told, {})
    schema: Schema = next(each for each in told["schema"]["fields"] if each["field"] == "after")
    return Event(found, told["payload"], schema)


def compared(ours: list[Event], theirs: list[Event]) -> list[str]:
    """All differences, in the order of the topics, which have one partition."""
    told = [] if len(ours) == len(theirs) else [f"{len(ours)} records, {len(theirs)} in Debezium"]
    for number, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        told += [f"record {number}, {one.key}: {each}" for each in _of_record(one, other)]
    return told


def _of_record(ours: Event, theirs: Event) -> Iterator[str]:
    if ours.key != theirs.key:
        yield f"the key is {theirs.key} in Debezium"
    if ours.value is None or theirs.value is None:
        if ours.value is not theirs.value:
            yield "one is a tombstone, the other is not"
        return
    op = ours.value["op"]
    if op != theirs.value["op"]:
        yield f"{op} is {theirs.value['op']} in Debezium"
    for row in ("before", "after"):
        yield from differences(theirs.schema, theirs.value[row], ours.value[row])
    names = ["connector", "db", "schema", "table"] + ([] if op == "r" else ["txId", "lsn", "ts_ms"])
    for name in names:
        if ours.value["source"][name] != theirs.value["source"][name]:
            yield f"source.{name} {ours.value['source'][name]} is {theirs.value['source'][name]} in Debezium"


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("both")
    with Postgres() as database, BarnabasNode(folder / "node") as node:
        _make_tables(database)
        definition = written(
            folder / "ours.yaml",
            f"""
            name: ours
            from:
              postgres:
                url: {database.url()}
                password: ${{env:PGPASSWORD}}
                tables: [public.*]
                envelope: debezium
                truncate: event
                topic: ours.{{schema}}.{{table}}
            to: {{topic: ours, partitions: 1}}
            """,
        )
        ours = ConnectWorker(node.bootstrap, folder / "ours.log", definition, PGPASSWORD=PASSWORD)
        worker = KafkaConnectWorker(folder / "worker", node.bootstrap)
        try:
            ours.start()
            worker.start()
            worker.put("theirs", {**debezium(database, "theirs", "public.*"), "skipped.operations": "none"})
            until(lambda: _streaming(database) == 2, "both read their slots", 60)
            yield Both(database, node)
        finally:
            worker.kill()
            ours.stop()


def _streaming(database: Postgres) -> int:
    return int(database.execute("select count(*) from pg_replication_slots where active")[0][0])


def _make_tables(database: Postgres) -> None:
    database.execute("create extension hstore; create extension citext")
    database.execute("create type mood as enum ('sad', 'ok'); create domain positive as int check (value > 0)")
    database.execute("create table marks (id serial primary key)")
    database.execute(TABLE)
    database.execute("insert into orders select -each, 'before', 1, null from generate_series(1, 100) as each")
    database.execute(f"create table types (id int primary key, {columns(list(TYPES))})")
    database.execute(f"insert into types values (1, {values(list(TYPES.values()))})")
    database.execute("insert into types values (2)")
    database.execute(f"create table edges (id int primary key, {columns([each[0] for each in EDGES])})")
    for name in ("large", "whole"):
        database.execute(f"create table {name} (id int primary key, text text, number int)")
        database.execute(f"alter table {name} alter text set storage external")
    database.execute("alter table whole replica identity full")
    database.execute("create table keyless (number int, text text); alter table keyless replica identity full")


def test_many_changes(both: Both) -> None:
    with Changes(both.database, seed=7) as changes:
        for size in range(300):
            changes.transaction(1 + size % 20)
    ours, theirs = both.events("orders")
    snapshot = [sorted(each.value["after"]["id"] for each in found[:100]) for found in (ours, theirs)]
    assert snapshot == [sorted(range(-100, 0))] * 2  # in any order
    assert len(ours) > 3000
    assert compared(ours[100:], theirs[100:]) == []


def test_every_type(both: Both) -> None:
    execute = both.database.execute
    execute(f"insert into types values (3, {values(list(TYPES.values()))})")
    execute("insert into types values (4)")
    nulls = values([f"c{number} = null" for number in range(len(TYPES))])
    execute(f"update types set {nulls} where id = 3")
    execute("alter table types replica identity full")
    execute("update types set c0 = not c0 where id = 1")
    execute("delete from types where id = 1")
    ours, theirs = both.events("types")
    assert [each.value and each.value["op"] for each in ours] == ["r", "r", "c", "c", "u", "u", "d", None]
    assert compared(ours, theirs) == []


def test_values_that_differ(both: Both) -> None:
    """So that the table in docs/connectors/kafka-connect.md is true."""
    for number, (_, value, _, _) in enumerate(EDGES):
        both.database.execute(f"insert into edges (id, c{number}) values ({number}, {value})")
    ours, theirs = both.events("edges")
    for found, place in ((ours, 2), (theirs, 3)):
        told = [(EDGES[number][0], each.value["after"][f"c{number}"]) for number, each in enumerate(found)]
        assert told == [(each[0], each[place]) for each in EDGES]


def test_keys_that_change_and_large_values(both: Both) -> None:
    for table in ("large", "whole"):
        both.database.execute(f"insert into {table} values (1, repeat('x', 5000), 1)")
        both.database.execute(f"update {table} set number = 2")
        both.database.execute(f"update {table} set id = 2")
        both.database.execute(f"delete from {table}")
        ours, theirs = both.events(table)
        assert [each.value and each.value["op"] for each in ours] == ["c", "u", "d", None, "c", "d", None]
        assert compared(ours, theirs) == []


def test_a_schema_that_changes(both: Both) -> None:
    before = [len(found) for found in both.events("whole")]
    both.database.execute(
        """
        insert into whole values (3, 'a', 1); alter table whole add column more text default 'x';
        insert into whole values (4, 'a', 1, 'b'); update whole set number = 2 where id = 3;
        alter table whole drop column number; insert into whole values (5, 'a', 'b');
        alter table whole rename text to words; update whole set words = 'c' where id = 4;
        alter table whole alter id type bigint; insert into whole values (8000000000, 'a', 'b');
        delete from whole where id = 5
        """
    )
    ours, theirs = (found[first:] for found, first in zip(both.events("whole"), before, strict=True))
    assert [each.value and each.value["op"] for each in ours] == ["c", "c", "u", "c", "u", "c", "d", None]
    assert compared(ours, theirs) == []


def test_a_table_without_a_key(both: Both) -> None:
    """Debezium writes a tombstone without a key after a delete; we do not."""
    both.database.execute("insert into keyless values (1, 'a'); update keyless set text = 'b'; delete from keyless")
    both.database.execute("truncate keyless")
    ours, theirs = both.events("keyless")
    assert [each.value and each.value["op"] for each in theirs] == ["c", "u", "d", None, "t"]
    assert compared(ours, [each for each in theirs if each.value is not None]) == []
