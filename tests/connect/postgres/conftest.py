from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.connect.postgres.capturing import Capture, Database
from tests.support.postgres import Postgres


@pytest.fixture(scope="session")
def shared_postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        server.execute("create database shop")
        yield server


@pytest.fixture
def database(shared_postgres: Postgres) -> Iterator[Database]:
    """Empty for each test."""
    found = Database(shared_postgres, "shop")
    try:
        yield found
    finally:
        found.clear()


@pytest.fixture
def capture(database: Database) -> Iterator[Capture]:
    """Of the table items, which the test makes."""
    found = Capture(database, tables=["public.items"])
    try:
        yield found
    finally:
        found.close()
