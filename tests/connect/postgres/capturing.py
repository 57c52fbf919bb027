"""Drives the source as the runtime does: reads chunks, keeps the position of those that it took, and opens it again
there. What is taken is `records`, so a chunk that is dropped before a crash has never been."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

from barnabas.connect.connectors.postgres.source import PostgresSource
from barnabas.connect.contract import Chunk, Position, Reader, Record
from barnabas.connect.errors import Unavailable
from tests.support.postgres import PASSWORD, Postgres

_names = itertools.count()


class Database:
    def __init__(self, server: Postgres, name: str) -> None:
        self.server, self.name = server, name

    def execute(self, statement: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, parameters, self.name)

    def clear(self) -> None:
        self.execute(
            "drop schema if exists public, sales cascade; create schema public; grant usage on schema public to public"
        )
        self.execute(f"alter database {self.name} reset all")
        for (publication,) in self.execute("select pubname from pg_publication"):
            self.execute(f'drop publication "{publication}"')
        self._drop_slots()

    def _drop_slots(self) -> None:
        """They would hold the log, and their number is limited."""
        self.server.execute("select pg_terminate_backend(pid) from pg_stat_replication")
        deadline = time.monotonic() + 10
        while slots := self.server.execute(
            "select slot_name, active from pg_replication_slots where database = %s", [self.name]
        ):
            assert time.monotonic() < deadline, slots
            for slot, active in slots:
                if not active:
                    self.server.execute("select pg_drop_replication_slot(%s)", [slot])


class Capture:
    # Any: options of all types
    def __init__(self, database: Database, name: str | None = None, **options: Any) -> None:
        self.database = database
        self.name = name or f"items{next(_names)}"
        self.options = {"url": database.server.url(database.name), "password": PASSWORD, "heartbeat_s": 0.3, **options}
        self.records: list[Record] = []
        self.position: Position | None = None
        self.reader: Reader | None = None

    def open(self) -> Reader:
        assert self.reader is None
        source = PostgresSource(self.name, self.options)
        assert source.splits() == ["main"]
        self.reader = source.open("main", self.position)
        return self.reader

    def open_when_free(self, timeout_seconds: float = 20) -> None:
        """A reader that was killed leaves the slot to the server for a moment."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            try:
                self.open()
                return
            except Unavailable as problem:
                if "in use" not in str(problem) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def close(self) -> None:
        if self.reader is not None:
            self.reader.close()
            self.reader = None

    def peek(self, most: int = 1000, wait_s: float = 0.1) -> Chunk | None:
        if self.reader is None:
            self.open_when_free()
        assert self.reader is not None
        return self.reader.read(most, wait_s)

    def take(self, chunk: Chunk, confirm: bool = True) -> None:
        """As one transaction of the runtime: records and the position, through JSON."""
        self.records += chunk.records
        self.position = json.loads(json.dumps(chunk.position))
        if confirm and self.reader is not None:
            assert self.position is not None
            self.reader.committed(self.position)

    def read_until(
        self, condition: Callable[[list[Record]], bool], what: str, most: int = 1000, timeout_seconds: float = 30
    ) -> list[Record]:
        deadline = time.monotonic() + timeout_seconds
        while not condition(self.records):
            assert time.monotonic() < deadline, f"not in {timeout_seconds} s: {what}; {self.records[-5:]}"
            if (chunk := self.peek(most)) is not None:
                self.take(chunk)
        return self.records

    def read(self, count: int, most: int = 1000) -> list[Record]:
        """Until there are as many, and no more."""
        self.read_until(lambda records: len(records) >= count, f"{count} records", most)
        assert len(self.records) == count, self.records[count - 1 :]
        return self.records

    def values(self) -> list[Any]:
        return [each.value for each in self.records]

    def state(self) -> dict[tuple[Any, ...], Any]:
        """The last value of each key; deleted ones are not in it."""
        found: dict[tuple[Any, ...], Any] = {}
        for each in self.records:
            key = tuple(each.key.values())
            if each.value is None:
                found.pop(key, None)
            else:
                found[key] = each.value
        return found
