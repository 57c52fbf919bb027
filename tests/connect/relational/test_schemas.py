"""Columns follow schemas in PostgreSQL as they do in DuckDB; numbers with bounds are PostgreSQL's own."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from barnabas import Registry
from tests.connect.relational.targets import PostgresTarget
from tests.unit.connect.relational.test_schemas import *  # noqa: F403  # tests, and the registry they need
from tests.unit.connect.relational.test_schemas import Topic, avro


def test_decimals_that_become_wider(registry: Registry, postgres: PostgresTarget) -> None:
    """Rounded by nobody: a column that is too narrow for a new version loses its bounds."""
    topic = Topic(registry, postgres, "AVRO", name="wider", table="orders")

    def schema(precision: int, scale: int) -> dict[str, Any]:
        kind = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        return avro(("price", kind), name=f"Order{scale}")

    def declared() -> str:
        found = "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'orders'::regclass"
        return str(postgres.execute(f"{found} and attname = 'price'")[0][0])

    registry.set_level("NONE", "wider-value")
    assert topic.put(schema(6, 2), {"price": "1.25"}) == []
    assert declared() == "numeric(6,2)"
    assert topic.put(schema(9, 4), {"price": "1.2345"}) == []
    assert declared() == "numeric"
    assert postgres.execute("select price from orders order by 1") == [(Decimal("1.2345"),), (Decimal("1.25"),)]
