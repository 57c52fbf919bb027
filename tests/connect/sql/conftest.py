from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.connect.sql.rows import Database
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


class SqliteDatabase(Database):
    kind = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.options = {"url": f"sqlite:///{path}"}
        self.sources = []

    def execute(self, statement: str) -> list[tuple[Any, ...]]:  # Any: columns of any statement
        connection = sqlite3.connect(self.path)
        try:
            connection.executescript(statement) if ";" in statement else connection.execute(statement)
            rows = connection.execute(statement).fetchall() if statement.startswith("select") else []
            connection.commit()
            return rows
        finally:
            connection.close()


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
