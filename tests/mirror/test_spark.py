"""The copy in tasks of Spark: the same records, each once."""

from __future__ import annotations

import pytest

from tests.linked_clusters.pair import create, produce
from tests.mirror.sides import Sides, has_values

pytestmark = pytest.mark.long


def test_the_copy_runs_on_spark(sides: Sides) -> None:
    create(sides.east, "orders", 3)
    values = [f"e{number}" for number in range(5000)]
    produce(sides.east, "orders", values[:4000])
    sides.mirror("--spark", "--topics", "orders")
    has_values(sides.west, "east.orders", values[:4000], 120)
    produce(sides.east, "orders", values[4000:])
    has_values(sides.west, "east.orders", values, 60)
