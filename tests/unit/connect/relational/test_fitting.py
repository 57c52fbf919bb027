"""Values as columns take them: what is kept, converted, widened and refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.connect.connectors.duckdb.tables import DIALECT as DUCKDB
from barnabas.connect.connectors.postgres.tables.catalog import DIALECT as POSTGRES
from barnabas.connect.connectors.relational.fitting import fit
from barnabas.connect.connectors.relational.kinds import NOTHING, Dialect, Kind, first_kind, widened
from barnabas.connect.connectors.relational.model import Column
from barnabas.connect.contract import Value

BIG = 2**60 + 1


def widen(kind: Kind, values: list[Value], dialect: Dialect) -> Kind:
    return widened(kind, values, set(map(type, values)) - {NOTHING}, dialect)


@pytest.mark.parametrize(
    ("kind", "values", "postgres", "duckdb"),
    [
        (Kind.INT64, [1, None, -(2**63), 2**63 - 1], Kind.INT64, Kind.INT64),
        (Kind.INT64, [2**63], Kind.NUMERIC, Kind.INT128),
        (Kind.INT64, [2**200], Kind.NUMERIC, Kind.INT64),
        (Kind.INT16, [40_000], Kind.INT64, Kind.INT64),
        (Kind.INT32, [2**31 - 1], Kind.INT32, Kind.INT32),
        (Kind.INT64, [1, 0.5], Kind.FLOAT64, Kind.FLOAT64),
        (Kind.INT64, [BIG, 0.5], Kind.NUMERIC, Kind.INT64),
        (Kind.INT64, [Decimal("1.5")], Kind.NUMERIC, Kind.NUMERIC),
        (Kind.FLOAT64, [7], Kind.FLOAT64, Kind.FLOAT64),
        (Kind.FLOAT64, [BIG], Kind.NUMERIC, Kind.FLOAT64),
        (Kind.FLOAT64, [Decimal("0.1")], Kind.NUMERIC, Kind.FLOAT64),
        (Kind.INT64, ["text", True], Kind.INT64, Kind.INT64),
        (Kind.TEXT, [1], Kind.TEXT, Kind.TEXT),
    ],
)
def test_only_numbers_are_widened(kind: Kind, values: list[Value], postgres: Kind, duckdb: Kind) -> None:
    assert widen(kind, values, POSTGRES) is postgres
    assert widen(kind, values, DUCKDB) is duckdb


numbers = st.one_of(st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.decimals(allow_nan=False))


@given(st.lists(numbers, min_size=1), st.data())
def test_the_kind_in_the_end_does_not_depend_on_batches(values: list[Value], data: st.DataObject) -> None:
    """In PostgreSQL, which has a type for every mixture. That rows which are there have large integers is checked by
    the database when a column is changed, here by what came before."""
    whole = first_kind(values)
    assert whole is not None
    whole = widen(whole, values, POSTGRES)
    cut = data.draw(st.integers(0, len(values)))
    kind = first_kind(values)
    assert kind is not None
    for part in (values[:cut], values[cut:]):
        before = kind
        kind = widen(kind, part, POSTGRES) if part else kind
        if part and before is Kind.INT64 and kind is Kind.FLOAT64:
            kind = widen(before, values[: cut + len(part)], POSTGRES)
    assert kind is whole


@pytest.mark.parametrize(
    ("kind", "value", "fitted"),
    [
        (Kind.INT64, 7.0, 7),
        (Kind.INT64, Decimal(7), 7),
        (Kind.INT64, "7", 7),
        (Kind.FLOAT64, 7, 7.0),
        (Kind.FLOAT64, "0.5", 0.5),
        (Kind.NUMERIC, "1.10", Decimal("1.10")),
        (Kind.BOOLEAN, "True", True),
        (Kind.TEXT, True, "true"),
        (Kind.TEXT, 1.5, "1.5"),
        (Kind.TEXT, {"a": [1]}, '{"a":[1]}'),
        (Kind.JSON, "text", '"text"'),
        (Kind.JSON, {"price": Decimal("1.10")}, '{"price":1.10}'),
        (Kind.TIMESTAMPTZ, datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)),
        (Kind.TIMESTAMP, datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 1, 1)),
        (Kind.TIMESTAMP, date(2026, 1, 1), datetime(2026, 1, 1)),
        (Kind.TIMESTAMPTZ, "2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        (Kind.UUID, "12345678123456781234567812345678", UUID("12345678-1234-5678-1234-567812345678")),
        (Kind.ARRAY, ["a", 'b"\\', None, [1]], '{"a","b\\"\\\\",NULL,{"1"}}'),
    ],
)
def test_what_is_converted(kind: Kind, value: Value, fitted: Value) -> None:
    found = fit("field", Column("c", kind, "type"), [None, value], reads_text=False)
    assert found.bad == {} and list(found.values) == [None, fitted]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Kind.INT64, 0.5),
        (Kind.INT64, float("nan")),
        (Kind.INT64, float("inf")),
        (Kind.INT64, 2**63),
        (Kind.INT16, 40_000),
        (Kind.INT64, "9" * 50),
        (Kind.INT64, "seven"),
        (Kind.INT64, True),
        pytest.param(Kind.NUMERIC, 10**5000, id="too many digits"),  # Python refuses to write it
        (Kind.NUMERIC, "many"),
        pytest.param(Kind.TEXT, 10**5000, id="too many digits for text"),
        (Kind.TEXT, b"bytes"),
        (Kind.BYTES, "text"),
        (Kind.BOOLEAN, 1),
        (Kind.FLOAT64, 10**400),
        (Kind.DATE, datetime(2026, 1, 1)),
        (Kind.TIMESTAMPTZ, "soon"),
        (Kind.UUID, "1"),
        (Kind.JSON, timedelta(1)),
    ],
)
def test_what_does_not_fit(kind: Kind, value: Value) -> None:
    found = fit("field", Column("c", kind, "type"), [value, None], reads_text=False)
    assert list(found.bad) == [0] and found.bad[0].startswith("field 'field': ")
    assert len(found.bad[0]) < 200 and list(found.values) == [None, None]


def test_text_is_left_to_a_database_that_reads_it() -> None:
    column = Column("c", Kind.TIMESTAMPTZ, "timestamptz")
    assert fit("f", column, ["yesterday", None], reads_text=True).values == ["yesterday", None]
    mixed = fit("f", column, ["yesterday", datetime(2026, 1, 1), 5], reads_text=True)
    assert mixed.values == ["yesterday", datetime(2026, 1, 1, tzinfo=UTC), None] and list(mixed.bad) == [2]
    assert list(fit("f", Column("c", Kind.BYTES, "bytea"), ["text"], reads_text=True).bad) == [0]
