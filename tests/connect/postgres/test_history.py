"""Every change that is committed, exactly once, over any number of crashes of the reader: the records of a key are the
end of its history, from the state that the snapshot saw on, without a gap and without a repetition."""

from __future__ import annotations

import random
import threading
import time

import psycopg
import pytest

from barnabas.connect.connectors.postgres.capture import snapshot
from tests.connect.postgres.capturing import Capture, Database

Key = tuple[str, int]

TABLE = """
create table items (
    name text collate "en-US-x-icu", number int, version bigint not null, note text,
    primary key (number, name)  -- in another order than the columns
)
"""


class Writer(threading.Thread):
    """Writes keys of its own, so it knows their history. Each state of a row has a version that no other has; None is a
    row that is deleted."""

    def __init__(self, database: Database, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self._database, self._number = database, number
        self._random = random.Random(f"{seed}-{number}")
        self.history: dict[Key, list[int | None]] = {}
        self._now: dict[Key, int] = {}
        self._version = number << 40
        self.stopping = threading.Event()
        self.transactions = 0
        self.pause_s = 0.005
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            with self._database.server.connect(self._database.name) as connection:
                while not self.stopping.is_set():
                    self._transaction(connection)
                    time.sleep(self.pause_s)
        except psycopg.Error as problem:
            self.problem = problem

    def _transaction(self, connection: psycopg.Connection) -> None:
        changes: list[tuple[Key, int | None]] = []
        before = dict(self._now)
        is_taken_back = self._random.random() < 0.1
        with connection.transaction(force_rollback=is_taken_back):
            for _ in range(self._random.choice((1, 1, 2, 5, 40))):
                self._change(connection, changes)
            if self._random.random() < 0.3:  # in a subtransaction, with an id of its own
                with connection.transaction():
                    self._change(connection, changes)
            if self._random.random() < 0.05:
                time.sleep(0.02)
        if is_taken_back:
            self._now = before
        else:
            for key, version in changes:
                self.history.setdefault(key, []).append(version)
            self.transactions += 1

    def _change(self, connection: psycopg.Connection, changes: list[tuple[Key, int | None]]) -> None:
        key, now = self._key(), self._now
        self._version += 1
        kind = self._random.random()
        if key not in now:
            connection.execute("insert into items values (%s, %s, %s)", [*key, self._version])
            changes.append((key, self._version))
        elif kind < 0.15:
            connection.execute("delete from items where (name, number) = (%s, %s)", key)
            changes.append((key, None))
        elif kind < 0.25 and (other := self._key()) not in now:
            connection.execute(
                "update items set (name, number, version) = (%s, %s, %s) where (name, number) = (%s, %s)",
                [*other, self._version, *key],
            )
            changes += [(key, None), (other, self._version)]
        else:
            connection.execute("update items set version = %s where (name, number) = (%s, %s)", [self._version, *key])
            changes.append((key, self._version))
        for changed, version in changes[-2:]:
            if version is None:
                now.pop(changed, None)
            else:
                now[changed] = version

    def _key(self) -> Key:
        word = self._random.choice(("a", "B", "ä", "zebra", "Ångström", "_"))
        return f"{word}{self._number}", self._random.randrange(60)


def fill(database: Database, rows: int) -> dict[Key, int]:
    """Rows that no writer touches."""
    database.execute("insert into items select 'old', i, -i from generate_series(1, %s) i", [rows])
    return {("old", number): -number for number in range(1, rows + 1)}


def delivered(capture: Capture) -> dict[Key, list[int | None]]:
    found: dict[Key, list[int | None]] = {}
    for each in capture.records:
        key = (each.key["name"], each.key["number"])
        found.setdefault(key, []).append(None if each.value is None else each.value["version"])
    return found


def check(capture: Capture, writers: list[Writer], old: dict[Key, int]) -> None:
    histories: dict[Key, list[int | None]] = {key: [version] for key, version in old.items()}
    for writer in writers:
        assert writer.problem is None
        histories.update(writer.history)
    got = delivered(capture)
    assert not got.keys() - histories.keys()
    for key, history in histories.items():
        records = got.get(key, [])
        assert records == history[len(history) - len(records) :], (key, records, history)
        if not records:  # it was gone before the snapshot
            assert history[-1] is None, (key, history)


def is_complete(capture: Capture, database: Database) -> bool:
    there = {(row[0], row[1]): row[2] for row in database.execute("select name, number, version from items")}
    return {key: value["version"] for key, value in capture.state().items()} == there


def run(
    database: Database, capture: Capture, seed: int, chance: float, chunks: int, monkeypatch: pytest.MonkeyPatch
) -> list[Writer]:
    """Reads `chunks` chunks while writers write, and with `chance` the reader dies at one of them: before the chunk was
    taken, or after it, with or without the server having heard."""
    rng = random.Random(seed)
    database.execute(TABLE)
    old = fill(database, rng.choice((0, 50, 900)))
    writers = [Writer(database, number, seed) for number in range(1, 4)]
    for each in writers:
        each.start()
    monkeypatch.setattr(snapshot, "_ROWS", rng.choice((7, 50, 20_000)))
    monkeypatch.setattr(snapshot, "_HOLD_S", rng.choice((0.0, 0.02, 60.0)))
    monkeypatch.setattr("barnabas.connect.connectors.postgres.capture.reader.RANGES_MAX", rng.choice((2, 5, 32)))
    try:
        seen = 0
        while seen < chunks:
            chunk = capture.peek(rng.choice((1, 3, 20, 200)), rng.choice((0.0, 0.01, 0.05)))
            if chunk is None:
                continue
            seen += 1
            died = rng.random() < chance
            if not died or rng.random() < 0.5:
                capture.take(chunk, confirm=not died or rng.random() < 0.5)
            if died:
                capture.close()
    finally:
        for each in writers:
            each.stopping.set()
        for each in writers:
            each.join(30)
    capture.read_until(lambda _: is_complete(capture, database), "the state of the table")
    check(capture, writers, old)
    return writers


@pytest.mark.parametrize("seed", range(4))
def test_reader_that_dies_at_any_chunk(
    seed: int, database: Database, capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(database, capture, seed, 0.3, 60, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 130))
def test_reader_that_dies_at_any_chunk_often(
    seed: int, database: Database, capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(database, capture, seed, random.Random(seed).choice((0.05, 0.3, 0.6)), 200, monkeypatch)
