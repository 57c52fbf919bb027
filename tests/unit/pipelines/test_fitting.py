"""Whether a JSON value fits a schema, decided in Python (source/values/coerce.py); and what of the same rules in SQL
(framework/fitting.py) is decided before Spark is asked."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from pyspark.sql import types as t

from barnabas.pipelines.framework import fitting
from barnabas.pipelines.framework.expected import Expected
from barnabas.pipelines.source.values.bad import Bad
from barnabas.pipelines.source.values.coerce import coerce

MAP = t.MapType(t.StringType(), t.LongType())
STRUCT = t.StructType([t.StructField("a", t.LongType(), nullable=False), t.StructField("b", t.StringType())])


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (None, t.LongType(), None),
        (127, t.ByteType(), 127),
        (2**63 - 1, t.LongType(), 2**63 - 1),
        (3, t.DoubleType(), 3.0),
        (True, t.BooleanType(), True),
        ("text", t.StringType(), "text"),
        ("aGk=", t.BinaryType(), b"hi"),
        ("2026-11-18", t.DateType(), date(2026, 11, 18)),
        ("2026-11-18T01:00:00", t.TimestampType(), datetime(2026, 11, 18, 1, tzinfo=UTC)),
        ("2026-11-18T01:00:00+00:00", t.TimestampNTZType(), datetime(2026, 11, 18, 1)),
        (1.25, t.DecimalType(4, 1), Decimal("1.3")),
        ("7", t.DecimalType(4, 1), Decimal("7.0")),
        ([1, None], t.ArrayType(t.LongType()), [1, None]),
        ({"x": 1}, MAP, [("x", 1)]),
        ({"a": 1, "more": 2}, STRUCT, {"a": 1, "b": None}),
    ],
)
def test_a_value_that_fits_is_of_the_wanted_type(value: object, kind: t.DataType, found: object) -> None:
    made = coerce(value, kind, "x")
    assert made == found and type(made) is type(found)


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        (128, t.ByteType(), "x: 128 is not tinyint"),
        (1.0, t.LongType(), "x: 1.0 is not bigint"),
        (True, t.LongType(), "x: True is not bigint"),
        (1e39, t.FloatType(), "is not float"),
        (float("inf"), t.DoubleType(), "is not double"),
        (7, t.StringType(), "x: 7 is not string"),
        ("true", t.BooleanType(), "is not boolean"),
        ("no base64!", t.BinaryType(), "is not binary"),
        ("2026-13-01", t.DateType(), "is not date"),
        ("18.11.2026", t.TimestampType(), "is not timestamp"),
        (1_700_000_000_000, t.TimestampType(), "is not timestamp"),
        ("1000000", t.DecimalType(4, 1), "is not decimal(4,1)"),
        ("NaN", t.DecimalType(4, 1), "is not decimal(4,1)"),
        (True, t.DecimalType(4, 1), "is not decimal(4,1)"),
        ("many", t.DecimalType(4, 1), "is not decimal(4,1)"),
        ("[1]", t.ArrayType(t.LongType()), "is not array<bigint>"),
        ([1], MAP, "is not map<string,bigint>"),
        ([1], STRUCT, "is not struct<a:bigint,b:string>"),
        ([1, "a"], t.ArrayType(t.LongType()), "x[1]: 'a' is not bigint"),
        ({"k": "a"}, MAP, "x.k: 'a' is not bigint"),
        ({"b": "c"}, STRUCT, "missing: x.a"),
        ("y" * 100, t.LongType(), f"'{'y' * 39} ... is not bigint"),
    ],
)
def test_a_value_that_does_not_fit_says_where(value: object, kind: t.DataType, said: str) -> None:
    with pytest.raises(Bad) as problem:
        coerce(value, kind, "x")
    assert said in str(problem.value)


@pytest.mark.parametrize("value", [1_700_000_000_000, "1700000000000"])
def test_milliseconds_are_a_time_on_request(value: object) -> None:
    moment = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert coerce(value, t.TimestampType(), "x", milliseconds=True) == moment
    assert coerce(value, t.TimestampNTZType(), "x", milliseconds=True) == moment.replace(tzinfo=None)
    for other in (True, 1.5, 10**18, "soon"):
        with pytest.raises(Bad):
            coerce(other, t.TimestampType(), "x", milliseconds=True)


# --- the same in SQL ------------------------------------------------------------------------------------------------

ORDER = t.StructType(
    [
        t.StructField("id", t.StringType(), nullable=False),
        t.StructField("at", t.TimestampType()),
        t.StructField("until", t.TimestampType()),
        t.StructField("days", t.ArrayType(t.DateType())),
        t.StructField("by", t.MapType(t.StringType(), t.StructType().add("price", "double"))),
    ]
)


def test_times_are_read_as_text_at_any_depth_and_nothing_is_required() -> None:
    loose = fitting.loose_fields(ORDER)
    assert loose.simpleString() == (
        "struct<id:string,at:string,until:string,days:array<string>,by:map<string,struct<price:double>>>"
    )
    assert all(field.nullable for field in loose.fields)
    assert fitting._has_floats(ORDER) and not fitting._has_floats(ORDER["days"].dataType)


def test_the_event_time_that_may_not_lie_ahead() -> None:
    assert fitting.event_times(ORDER, Expected("")) == ["at", "until"]
    assert fitting.event_times(ORDER, Expected("", event_time="at")) == ["at"]
    assert [fitting._span(each) for each in (3_600_000, 5_400_000, 90_000, 500)] == ["1 h", "1.5 h", "90 s", "0.5 s"]


@pytest.mark.parametrize(
    ("text", "suspect"),
    [
        ('{"id": "7"}', False),
        ('{"id":null}', False),
        ('{"id": 7}', True),
        ('{ "id" :{"a": 1}}', True),
        ('{"inner": {"id": [1]}}', True),  # told apart later, which takes longer
        ('{"other": "\\"id\\": 7"}', False),
    ],
)
def test_a_value_in_which_a_text_may_be_something_else(text: str, suspect: bool) -> None:
    assert bool(re.search(fitting._suspects("id"), text)) == suspect
    assert fitting._json_path(("a", "b.c")) == "$['a']['b.c']"
