from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.connect.sql.rows import Database, SqliteDatabase
from tests.support.postgres import PASSWORD, Postgres

_numbers = count()


class PostgresDatabase(Database):
    kind = "postgres"

    def __init__(self, server: Postgres) -> None:
        self.server, self.name = server, f"rows_{next(_numbers)}"
        server.execute(f"create database {self.name} template template0")
        self.options = {"url": server.url(self.name), "password": PASSWORD}
        self.sources = []

    def execute(self, statement: str) -> list[tuple[Any, ...]]:  # Any: columns of any statement
        return self.server.execute(statement, database=self.name)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> Iterator[PostgresDatabase]:
    made = PostgresDatabase(postgres_server)
    yield made
    made.close()


@pytest.fixture(params=["postgres", "sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "postgres":
        yield request.getfixturevalue("postgres")
        return
    made = SqliteDatabase(tmp_path / "rows.db")
    yield made
    made.close()
