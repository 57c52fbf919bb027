"""Two nodes, each a cluster of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mirror.sides import Sides


@pytest.fixture
def sides(tmp_path: Path) -> Iterator[Sides]:
    made = Sides(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()
