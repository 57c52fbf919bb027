"""A database to capture: tables with rows, a publication, a replication slot and its stream, told by a fake server.

It answers the statements of connectors/postgres/capture, no others: what it is asked and does not know fails the test.
"""

from __future__ import annotations

import datetime
import json
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from barnabas.connect.connectors.postgres.capture.wal import lsn_text
from barnabas.connect.connectors.postgres.source import PostgresSource
from barnabas.connect.contract import Chunk, Position, Reader, Record, Value
from tests.support.fake_postgres import (
    Answer,
    CopyBoth,
    CopyOut,
    Done,
    FakePostgres,
    Json,
    Login,
    Parameter,
    Refused,
    Rows,
    Stream,
)

MOMENT = datetime.datetime(2026, 11, 18, 1, 0, tzinfo=datetime.UTC)
SYSTEM = "7390000000000000001"


@dataclass
class Table:
    oid: int
    columns: list[tuple[str, int, str, str]]  # name, type, its name, collation
    keys: list[str] = field(default_factory=lambda: ["id"])
    identity: str = "d"
    rows: list[tuple[str | None, ...]] = field(default_factory=list)
    only: list[str] | None = None  # columns that the publication has
    row_filter: str | None = None

    def lines(self, after: str | None, most: int) -> list[bytes]:
        rows = [row for row in self.rows if after is None or int(row[0] or 0) > int(after)]
        return [b"\t".join(_escaped(each) for each in row) + b"\n" for row in rows[:most]]


@dataclass
class Slot:
    plugin: str = "pgoutput"
    database: str = "shop"
    pid: int | None = None
    restart: int = 0x100
    confirmed: int = 0x100
    lost: bool = False
    backlog: int = 0


def items(*rows: tuple[str | None, ...], oid: int = 16388, **more: object) -> Table:
    columns = [("id", 23, "integer", ""), ("name", 25, "text", "")]
    return Table(oid, columns, rows=list(rows), **more)  # type: ignore[arg-type]


def _escaped(text: str | None) -> bytes:
    if text is None:
        return b"\\N"
    return re.sub(r"[\\\t\n]", lambda found: {"\\": r"\\", "\t": r"\t", "\n": r"\n"}[found[0]], text).encode()


class Captured:
    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], Table] = {}
        self.publications: dict[str, set[tuple[str, str]]] = {}
        self.slots: dict[str, Slot] = {}
        self.system, self.timeline, self.history = SYSTEM, 1, ""
        self.wal_level = "logical"
        self.lsn = 0x200
        self.snapshot = "700:700:"
        self.running: list[int] = []  # transactions that write now
        self.slot_waits = threading.Event()  # a slot is made when it is set
        self.slot_waits.set()
        self.streams: list[Stream] = []
        self.started_at: list[str] = []
        self.places: list[int] = []  # what the database says of keys that are compared with ranges
        self.refused: dict[str, Refused] = {}  # by words of the statement
        self.copies: list[str] = []
        self.pace: Callable[[list[bytes]], Iterable[bytes]] = iter  # of the rows of a COPY
        self.types: dict[int, tuple[int, int, str]] = {}  # element, base, delimiter
        self.is_silent = False  # the reader that holds the slot
        self.server = FakePostgres(self.answer)

    def close(self) -> None:
        self.slot_waits.set()
        self.server.close()

    @property
    def stream(self) -> Stream:
        return self.streams[-1]

    # --- answers ----------------------------------------------------------------------------------------------------

    def answer(self, login: Login, text: str, given: list[Parameter]) -> Answer:
        for words, refused in self.refused.items():
            if words in text:
                raise refused
        if login.for_replication:
            return self._replication(text)
        for words, answer in self._answers.items():
            if words in text:
                return answer(self, text, given)
        raise AssertionError(f"not known to the fake: {text}")

    def _replication(self, text: str) -> Answer:
        if text == "IDENTIFY_SYSTEM":
            return Rows([(self.system, str(self.timeline), lsn_text(self.lsn), "shop")])
        if text.startswith("TIMELINE_HISTORY"):
            return Rows([("0000000A.history", self.history)])
        name = re.search(r'"(\w+)"', text)
        assert name is not None, text
        if text.startswith("CREATE_REPLICATION_SLOT"):
            assert self.slot_waits.wait(10)
            self.slots[name[1]] = Slot(restart=self.lsn, confirmed=self.lsn)
            return Rows([(name[1], lsn_text(self.lsn), "", "pgoutput")])
        assert text.startswith("START_REPLICATION"), text
        self.started_at.append(text.split(" LOGICAL ")[1].split(" ")[0])
        self.streams.append(Stream())
        return CopyBoth(self.stream)

    def _published(self, text: str, given: list[Parameter]) -> Answer:
        there = self.publications.get(str(given[0]), set())
        rows = []
        for schema, name in sorted(there):
            table = self.tables.get((schema, name))
            if table is not None:
                rows.append((schema, name, Json(table.only) if table.only else None, table.row_filter))
        return Rows(rows, 4)

    def _publish(self, text: str, given: list[Parameter]) -> Answer:
        found = re.search(r'publication "([^"]+)" (?:for|add) table (.*?)(?: with \(|$)', text)
        assert found is not None, text
        pairs = re.findall(r'"([^"]+)"\."([^"]+)"', found[2])
        self.publications.setdefault(found[1], set()).update(pairs)
        return Done("CREATE PUBLICATION")

    def _drop_publication(self, text: str, given: list[Parameter]) -> Answer:
        self.publications.pop(text.split('"')[1], None)
        return Done("DROP PUBLICATION")

    def _facts(self, text: str, given: list[Parameter]) -> Answer:
        schemas, names = given
        assert isinstance(schemas, list) and isinstance(names, list)
        found = []
        for pair in zip(schemas, names, strict=True):
            if (table := self.tables.get(pair)) is not None:
                found.append((table.oid, *pair, table.identity, table.keys))
        return Rows(found, 5)

    def _columns(self, text: str, given: list[Parameter]) -> Answer:
        assert isinstance(given[0], list)
        wanted = {int(each) for each in given[0]}
        return Rows([(t.oid, *column) for t in self.tables.values() if t.oid in wanted for column in t.columns], 5)

    def _types(self, text: str, given: list[Parameter]) -> Answer:
        assert isinstance(given[0], list)
        return Rows([(int(oid), *self.types[int(oid)]) for oid in given[0] if int(oid) in self.types], 4)

    def _slot(self, text: str, given: list[Parameter]) -> Answer:
        slot = self.slots.get(str(given[0]))
        if slot is None:
            return Rows([], 7)
        row = (slot.plugin, slot.database, slot.pid, lsn_text(slot.restart), lsn_text(slot.confirmed), slot.lost)
        return Rows([(*row, slot.backlog)])

    def _drop_slot(self, text: str, given: list[Parameter]) -> Answer:
        self.slots.pop(str(given[0]), None)
        return Rows([("",)])

    def _copy(self, text: str, given: list[Parameter]) -> Answer:
        self.copies.append(text)
        found = re.search(r'from "([^"]+)"\."([^"]+)"', text)
        assert found is not None, text
        after = re.search(r"> \('(\d+)'\)", text)
        limit = re.search(r"limit (\d+)", text)
        table = self.tables[found[1], found[2]]
        return CopyOut(self.pace(table.lines(after[1] if after else None, int(limit[1]) if limit else 1 << 30)))

    def _xmin(self, text: str, given: list[Parameter]) -> Answer:
        xmax = int(self.snapshot.split(":")[1])
        return Rows([(str(min(self.running, default=xmax)),)])

    _answers: dict[str, Callable[[Captured, str, list[Parameter]], Answer]] = {
        "show wal_level": lambda self, text, given: Rows([(self.wal_level,)]),
        "select 1 from pg_publication where": lambda self, text, given: Rows(
            [(1,)] if str(given[0]) in self.publications else []
        ),
        "from pg_publication_tables": _published,
        "create publication": _publish,
        "alter publication": _publish,
        "drop publication": _drop_publication,
        "select n.nspname, c.relname from pg_class": lambda self, text, given: Rows(sorted(self.tables), 2),
        "select c.oid::bigint": _facts,
        "select a.attrelid::bigint": _columns,
        "from pg_type": _types,
        "pg_drop_replication_slot": _drop_slot,
        "from pg_replication_slots": _slot,
        "pg_snapshot_xmax": lambda self, text, given: Rows([(self.snapshot.split(":")[1],)]),
        "pg_snapshot_xmin": _xmin,
        "from pg_stat_activity": lambda self, text, given: Rows(
            [(77, "nightly report", "2026-11-18 01:00:00")] if self.running else [], 3
        ),
        "pg_terminate_backend": lambda self, text, given: Rows([(True,)] if self.is_silent else []),
        "begin isolation level": lambda self, text, given: Done("BEGIN"),
        "set local": lambda self, text, given: Done("SET"),
        "lock table": lambda self, text, given: Done("LOCK TABLE"),
        "pg_current_wal_insert_lsn": lambda self, text, given: Rows([(self.snapshot, lsn_text(self.lsn), MOMENT)]),
        "copy (select": _copy,
        "with ordinality e(": lambda self, text, given: Rows([(each,) for each in self.places]),
        "pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end::text": (
            lambda self, text, given: Rows([(lsn_text(self.lsn),)])
        ),
    }


class Capture:
    """The source as the runtime drives it: chunks are taken, and the position goes through JSON."""

    def __init__(self, database: Captured, name: str = "shop", **options: Value) -> None:
        self.database, self.name = database, name
        self.options = {"url": database.server.url(), "heartbeat_s": 0.1, **options}
        if "publication" not in options:
            self.options.setdefault("tables", ["public.items"])
        self.records: list[Record] = []
        self.position: Position | None = None
        self.reader: Reader | None = None

    def open(self) -> Reader:
        assert self.reader is None
        source = PostgresSource(self.name, self.options)
        assert source.splits() == ["main"]
        self.reader = source.open("main", json.loads(json.dumps(self.position)))
        return self.reader

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()
            self.reader = None

    def read(self, most: int = 1000, wait_s: float = 0.05) -> Chunk | None:
        reader = self.reader or self.open()
        chunk = reader.read(most, wait_s)
        if chunk is not None:
            self.records += chunk.records
            position: Position = json.loads(json.dumps(chunk.position))
            self.position = position
            reader.committed(position)
        return chunk

    def until(self, is_there: Callable[[], bool], what: str, timeout_s: float = 10) -> None:
        deadline = time.monotonic() + timeout_s
        while not is_there():
            assert time.monotonic() < deadline, f"not in {timeout_s} s: {what}; {self.records[-3:]}"
            self.read()

    def streaming(self) -> Stream:
        """Reads until the stream has begun."""
        before = len(self.database.streams)
        self.until(lambda: len(self.database.streams) > before, "the stream begins")
        return self.database.stream

    def all(self, count: int) -> list[Value]:
        """The values of as many records, and no more."""
        self.until(lambda: len(self.records) >= count, f"{count} records")
        assert len(self.records) == count
        return [each.value for each in self.records]
