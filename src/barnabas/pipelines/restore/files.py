"""The rebuilt state as a SQLite file: one table, `state(key, value)`, that any program can open.

It is written beside its place and put there by a rename when it is whole, so nobody ever opens half of one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

_AT_ONCE = 10_000


def write_state(pairs: Iterable[tuple[bytes, bytes]], place: Path) -> int:
    """Write all pairs. Returns how many."""
    fresh = place.with_name(place.name + ".new")
    fresh.unlink(missing_ok=True)
    with closing(sqlite3.connect(fresh)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("CREATE TABLE state (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")
        count = 0
        for chunk in _chunks(pairs):
            database.executemany("INSERT INTO state VALUES (?, ?)", chunk)
            count += len(chunk)
        database.commit()
    with fresh.open("rb") as written:
        os.fsync(written.fileno())
    fresh.replace(place)
    return count


def read_state(place: Path) -> dict[bytes, bytes]:
    with closing(sqlite3.connect(f"file:{place}?mode=ro", uri=True)) as database:
        return dict(database.execute("SELECT key, value FROM state"))


def _chunks(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[list[tuple[bytes, bytes]]]:
    chunk: list[tuple[bytes, bytes]] = []
    for pair in pairs:
        chunk.append(pair)
        if len(chunk) == _AT_ONCE:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
