from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.connect.relational.targets import DuckdbTarget, PostgresTarget, Target
from tests.support.postgres import Postgres

_numbers = count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: Postgres) -> Iterator[PostgresTarget]:
    target = PostgresTarget(postgres_server, f"target_{next(_numbers)}")
    yield target
    target.close()


@pytest.fixture(params=["postgres", "duckdb"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    if request.param == "postgres":
        yield request.getfixturevalue("postgres")
        return
    made = DuckdbTarget(tmp_path)
    yield made
    made.close()
