"""SQLite, which needs no server: the same tests run on PostgreSQL in tests/connect/sql."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connect.sql.rows import Database, SqliteDatabase


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = SqliteDatabase(tmp_path / "rows.db")
    yield made
    made.close()
