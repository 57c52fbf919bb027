"""The sink against a server that speaks the protocol: what is in one transaction, what is rolled back, and what errors
mean. That the statements are good SQL is for tests/connect/relational, which has a real PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from barnabas.connect.connectors.postgres.sink import PostgresSink
from barnabas.connect.connectors.postgres.tables import pool
from barnabas.connect.contract import Value, Writer
from barnabas.connect.errors import BadOption, Unavailable
from tests.connect.relational.targets import record, write
from tests.support.fake_postgres import Answer, CopyIn, Done, FakePostgres, Login, Parameter, Refused, Rows

PASSWORD = "not-to-be-shown"
_BASES = {"bigint": "int8", "text": "text", "jsonb": "jsonb", "double precision": "float8", "numeric": "numeric"}


class Warehouse:
    """Tables as the catalog tells them, and rows as they came by COPY."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, str]] = {}  # columns with their types
        self.keys: dict[str, list[str]] = {}
        self.offsets: dict[tuple[str, str, int], tuple[int, str | None]] | None = None  # None: no such table
        self.copied: list[bytes] = []
        self.bad = b""  # a line with this in it is refused
        self.refused: dict[str, Refused] = {}
        self.taken_by_another = False
        self.server = FakePostgres(self.answer)

    def statements(self) -> list[str]:
        """Since the last call, without the questions about tables."""
        found = [each for each in self.server.asked if not each.startswith(("select a.att", "select array", "set "))]
        self.server.asked.clear()
        return found

    def answer(self, login: Login, text: str, given: list[Parameter]) -> Answer:
        for words, refused in self.refused.items():
            if words in text:
                raise refused
        word = text.split(" ", 1)[0].lower()
        if word in ("begin", "commit", "set", "savepoint", "release", "truncate", "rollback", "delete"):
            return Done(word.upper())
        if "barnabas_offsets" in text:
            return self._offsets(text, given)
        if text.startswith(("select a.attname", "select array_agg", "select to_regclass")):
            name = re.sub('"', "", str(given[0]))
            return self._catalog(text, self.tables.get(name), self.keys.get(name, []))
        if text.startswith("create table"):
            return self._create(text)
        if text.startswith("alter table"):
            return self._alter(text)
        if text.startswith("copy"):
            return CopyIn(self._take)
        if text.startswith(("select pg_advisory", "select to_regnamespace", "select exists")):
            return Rows([(False,)])
        assert text.startswith(("create temporary", "insert into", "create schema")), text
        return Done("OK")

    def _offsets(self, text: str, given: list[Parameter]) -> Answer:
        if text.startswith("create table"):
            self.offsets = {}
            return Done("CREATE TABLE")
        if self.offsets is None:
            raise Refused("42P01", 'relation "barnabas_offsets" does not exist')
        if text.startswith("select"):
            found = self.offsets.get(_owner(given))
            return Rows([found] if found else [], 2)
        if text.startswith("insert"):
            new = _owner(given) not in self.offsets
            if "do update" in text or new:
                self.offsets[_owner(given)] = (int(str(given[3])), None)
            return Done("INSERT 0", int(new or "do update" in text))
        if "set rejected" in text:
            key = _owner(given[1:])
            self.offsets[key] = (self.offsets[key][0], str(given[0]))
            return Done("UPDATE", 1)
        key, expected = _owner(given[1:]), int(str(given[4]))
        if self.taken_by_another or self.offsets[key][0] != expected:
            return Done("UPDATE", 0)
        self.offsets[key] = (int(str(given[0])), None)
        return Done("UPDATE", 1)

    def _catalog(self, text: str, columns: dict[str, str] | None, keys: list[str]) -> Answer:
        if text.startswith("select to_regclass"):
            return Rows([(columns is not None,)])
        if text.startswith("select array_agg"):
            return Rows([(keys, False)] if keys else [], 2)
        rows = [(name, kind, _BASES[kind], False, False, False) for name, kind in (columns or {}).items()]
        return Rows(rows, 6)

    def _create(self, text: str) -> Answer:
        found = re.fullmatch(r'create table "(\w+)" \((.*)\)', text)
        assert found is not None, text
        parts = re.findall(r'"(\w+)" ([a-z]+(?: precision)?)', found[2].split(", primary key")[0])
        self.tables[found[1]] = dict(parts)
        if key := re.search(r"primary key \((.*?)\)", text):
            self.keys[found[1]] = re.findall(r'"(\w+)"', key[1])
        return Done("CREATE TABLE")

    def _alter(self, text: str) -> Answer:
        added = re.fullmatch(r'alter table "(\w+)" add column if not exists "(\w+)" (.*)', text)
        widened = re.match(r'alter table "(\w+)" alter column "(\w+)" type ([a-z ]+?) using', text)
        found = added or widened
        assert found is not None, text
        self.tables[found[1]][found[2]] = found[3]
        return Done("ALTER TABLE")

    def _take(self, lines: list[bytes]) -> int:
        for line in lines:
            if self.bad and self.bad in line:
                raise Refused("23514", "new row violates check constraint", constraint="orders_n_check")
        self.copied += lines
        return len(lines)


def _owner(given: list[Parameter]) -> tuple[str, str, int]:
    return str(given[0]), str(given[1]), int(str(given[2]))


@pytest.fixture
def warehouse() -> Iterator[Warehouse]:
    made = Warehouse()
    yield made
    made.server.close()


@pytest.fixture
def sinks(warehouse: Warehouse) -> Iterator[list[PostgresSink]]:
    made: list[PostgresSink] = []
    yield made
    for each in made:
        each.close()


def opened(warehouse: Warehouse, sinks: list[PostgresSink], **options: Value) -> Writer:
    sinks.append(PostgresSink("orders", {"url": warehouse.server.url(), **options}))
    return sinks[-1].open("orders", 0)


def test_rows_and_the_next_offset_are_one_transaction(warehouse: Warehouse, sinks: list[PostgresSink]) -> None:
    writer = opened(warehouse, sinks)
    assert writer.next_offset() is None and warehouse.offsets == {}
    warehouse.statements()
    records = [record(0, {"n": 1, "name": "a"}, {"id": 7}), record(1, {"n": 2, "name": "b"}, {"id": 8})]
    assert write(writer, records) == []
    assert warehouse.tables["orders"] == {"id": "bigint", "n": "bigint", "name": "text"}
    assert warehouse.keys["orders"] == ["id"]
    assert warehouse.copied == [b"7\t1\ta\n", b"8\t2\tb\n"]
    made = warehouse.statements()
    moved = next(number for number, each in enumerate(made) if each.startswith('insert into "barnabas_offsets"'))
    assert made[moved - 1] == "begin"
    assert [each.split(" ")[0] for each in made[moved:]] == [
        *("insert", "create", "savepoint", "copy", "insert", "release", "commit"),
    ]
    assert 'on conflict ("id") do update set "n" = excluded."n"' in made[-3]
    assert writer.next_offset() == 2
    assert write(writer, [record(2, None, {"id": 7})]) == []  # a tombstone
    assert any(each.startswith('delete from "orders" t using') for each in warehouse.statements())


def test_another_writer_finds_where_it_stands_and_nothing_goes_in_twice(
    warehouse: Warehouse, sinks: list[PostgresSink]
) -> None:
    write(opened(warehouse, sinks), [record(0, {"n": 1}, {"id": 1})])
    writer = opened(warehouse, sinks)
    assert writer.next_offset() == 1
    warehouse.copied.clear()
    assert write(writer, [record(0, {"n": 1}, {"id": 1}), record(1, {"n": 2}, {"id": 2})]) == []
    assert warehouse.copied == [b"2\t2\n"]
    warehouse.taken_by_another = True
    warehouse.copied.clear()
    with pytest.raises(Unavailable, match="should be 2, and is 2: another worker writes this partition"):
        write(writer, [record(2, {"n": 3}, {"id": 3})])
    assert warehouse.copied == []
    assert "rollback" in [each.lower() for each in warehouse.statements()]
    sinks[-1].reset("orders", 0, 1)
    warehouse.taken_by_another = False
    assert opened(warehouse, sinks).next_offset() == 1


def test_a_row_that_is_refused_is_found_and_the_others_go_in(warehouse: Warehouse, sinks: list[PostgresSink]) -> None:
    writer = opened(warehouse, sinks)
    warehouse.bad = b"\t13\n"
    rejected = write(writer, [record(each, {"n": each}, {"id": each}) for each in range(10, 16)])
    assert rejected == [(13, "new row violates check constraint (orders_n_check)")]
    assert sorted(warehouse.copied) == [b"%d\t%d\n" % (each, each) for each in (10, 11, 12, 14, 15)]
    statements = warehouse.statements()
    assert any(each.startswith("rollback to savepoint") for each in statements) and statements[-1] == "commit"
    kept = '{"new row violates check constraint (orders_n_check)":[13]}'
    assert warehouse.offsets == {("orders", "orders", 0): (16, kept)}
    again = PostgresSink("orders", {"url": warehouse.server.url()})
    sinks.append(again)
    assert again.open("orders", 0).next_offset() == 13  # it may not have become a dead letter


def test_columns_come_and_grow(warehouse: Warehouse, sinks: list[PostgresSink]) -> None:
    writer = opened(warehouse, sinks)
    write(writer, [record(0, {"n": 1}, {"id": 1})])
    assert write(writer, [record(1, {"n": 1.5, "tags": ["a"]}, {"id": 1})]) == []
    assert warehouse.tables["orders"] == {"id": "bigint", "n": "double precision", "tags": "jsonb"}
    warehouse.refused["alter table"] = Refused("54011", "tables can have at most 1600 columns")
    rejected = write(writer, [record(2, {"more": 1}, {"id": 2})])
    assert len(rejected) == 1 and "at most 1600 columns" in rejected[0][1]
    warehouse.refused["alter table"] = Refused("42501", "must be owner of table orders")
    with pytest.raises(Unavailable, match="must be owner of table orders"):
        write(writer, [record(3, {"yet": 1}, {"id": 2})])


def test_every_record_appended_without_a_key(warehouse: Warehouse, sinks: list[PostgresSink]) -> None:
    writer = opened(warehouse, sinks, mode="append", metadata=["offset"])
    assert write(writer, [record(0, {"n": 1}), record(1, {"n": 1})]) == []
    assert len(warehouse.copied) == 2 and warehouse.keys.get("orders", []) == []
    assert not any("temporary" in each for each in warehouse.server.asked)


@pytest.mark.parametrize(
    ("words", "refused", "said"),
    [
        ("copy", Refused("55P03", "canceling statement due to lock timeout"), "Another session holds a lock"),
        ("copy", Refused("53100", "could not extend file: no space left"), "Free space on the server's disk"),
        ("insert into", Refused("42P10", "there is no unique constraint"), "ADD PRIMARY KEY"),
        ("begin", Refused("25006", "cannot execute in a read-only transaction"), "This server is a standby"),
    ],
)
def test_what_is_not_a_records_fault_is_waited_for(
    warehouse: Warehouse, sinks: list[PostgresSink], words: str, refused: Refused, said: str
) -> None:
    writer = opened(warehouse, sinks)
    warehouse.refused[words] = refused
    with pytest.raises(Unavailable, match=refused.message) as problem:
        write(writer, [record(0, {"n": 1}, {"id": 1})])
    assert said in str(problem.value) and "\n" not in str(problem.value)
    warehouse.refused.clear()
    assert write(writer, [record(0, {"n": 1}, {"id": 1})]) == []


def test_a_server_that_is_gone_and_back(warehouse: Warehouse, sinks: list[PostgresSink]) -> None:
    writer = opened(warehouse, sinks)
    warehouse.server.hang_up()
    with pytest.raises(Unavailable, match=r"PostgreSQL 127\.0\.0\.1:\d+/shop"):
        write(writer, [record(0, {"n": 1}, {"id": 1})])
    assert write(writer, [record(0, {"n": 1}, {"id": 1})]) == []


def test_connections_are_shared_and_awaited(
    warehouse: Warehouse, sinks: list[PostgresSink], monkeypatch: pytest.MonkeyPatch
) -> None:
    writers = [opened(warehouse, sinks, connections=1), *(sinks[-1].open("orders", each) for each in range(1, 4))]
    assert all(write(each, [record(0, {"n": 1}, {"id": 1})]) == [] for each in writers)
    assert len(warehouse.server.logins) == 1
    monkeypatch.setattr(pool, "_WAIT_S", 0)
    with sinks[-1]._database.session(), pytest.raises(Unavailable, match="no connection has become free in 0 s"):
        write(writers[0], [record(1, {"n": 1}, {"id": 1})])


def test_logins_that_are_refused_say_so_without_the_password(warehouse: Warehouse, sinks: list[PostgresSink]) -> None:
    warehouse.server.password = "sesame"
    with pytest.raises(Unavailable, match="password authentication failed") as problem:
        opened(warehouse, sinks, password=PASSWORD)
    assert "Check the user in url, and password" in str(problem.value) and PASSWORD not in str(problem.value)
    warehouse.server.refuse_login = Refused("3D000", f'database "{PASSWORD}" does not exist', fatal=True)
    warehouse.server.password = ""
    with pytest.raises(Unavailable, match=r"\[hidden\]") as problem:
        opened(warehouse, sinks, password=PASSWORD)
    assert PASSWORD not in str(problem.value) and "Create the database" in str(problem.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"url": f"postgresql://app:{PASSWORD}@:::/x?y"}, "not a URL of PostgreSQL"),
        ({}, "needs the option 'url'"),
        ({"url": "postgresql:///x", "table": "a.b.c"}, "more parts"),
        ({"url": "postgresql:///x", "table": "{tpoic}"}, "is not a table"),
        ({"url": "postgresql:///x", "mode": "insert"}, "mode"),
        ({"url": "postgresql:///x", "unique": True}, "mode: append"),
        ({"url": "postgresql:///x", "types": {"a": "text; drop table x"}}, "is not a type"),
        ({"url": "postgresql:///x", "tabel": "x"}, "did you mean 'table'"),
        ({"url": "postgresql:///x", "offsets_table": "."}, "offsets_table"),
    ],
)
def test_options_that_cannot_work(options: dict[str, object], words: str) -> None:
    with pytest.raises(BadOption) as caught:
        PostgresSink("orders", options)
    assert words in str(caught.value) and PASSWORD not in str(caught.value)
