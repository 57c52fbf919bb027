from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from tests.connect.postgres.capturing import Capture, Database
from tests.support.postgres import Postgres

_numbers = itertools.count()


@pytest.fixture(scope="session")
def shared_postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def database(shared_postgres: Postgres) -> Iterator[Database]:
    """A database of the test's own."""
    name = f"test_{next(_numbers)}"
    shared_postgres.execute(f"create database {name}")
    found = Database(shared_postgres, name)
    try:
        yield found
    finally:
        found.drop_slots()


@pytest.fixture
def capture(database: Database) -> Iterator[Capture]:
    """Of the table items, which the test makes."""
    found = Capture(database, tables=["public.items"])
    try:
        yield found
    finally:
        found.close()
