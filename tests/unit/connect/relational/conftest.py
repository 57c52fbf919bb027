"""DuckDB, which needs no server: the same tests run on PostgreSQL in tests/connect/relational."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.connect.relational.targets import DuckdbTarget, Target


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    made = DuckdbTarget(tmp_path)
    yield made
    made.close()
