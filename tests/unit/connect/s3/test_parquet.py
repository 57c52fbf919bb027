"""Types of columns: what belongs together stays, what does not becomes text, and nothing is lost."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from barnabas.connect.connectors.s3 import parquet
from barnabas.connect.connectors.s3.parquet import ParquetRows
from barnabas.connect.connectors.s3.rows import Columns
from barnabas.connect.contract import Value
from tests.support.delivered import delivered


def written(values: list[Value], **options: Any) -> pa.Table:
    settings = {"nested": "struct", "columns_max": 50, **options}
    rows = ParquetRows(Columns(False, "_"), settings["nested"], settings["columns_max"], "zstd")
    for offset, value in enumerate(values):
        rows.add(delivered(offset, value), value)
    return pq.read_table(io.BytesIO(rows.encode("batch")))


def column(values: list[Value], **options: Any) -> tuple[str, list[Value]]:
    found = written([{"x": value} for value in values], **options).column("x")
    return str(found.type), found.to_pylist()


NAIVE, AWARE = datetime(2026, 1, 2, 3), datetime(2026, 1, 2, 3, tzinfo=UTC)
CASES: list[tuple[list[Value], str, list[Value]]] = [
    ([1, None, 2], "int64", [1, None, 2]),
    ([1, 2.5], "double", [1.0, 2.5]),
    ([2**60, 2.5], "string", [str(2**60), "2.5"]),
    ([2**70, 1], "string", [str(2**70), "1"]),
    ([True, 1], "string", ["true", "1"]),
    ([1, "a", None], "string", ["1", "a", None]),
    ([b"a", b"\xff"], "binary", [b"a", b"\xff"]),
    ([b"\xff", "b"], "string", ['"/w=="', "b"]),
    ([Decimal("1.5"), Decimal("100.25")], "decimal128(5, 2)", [Decimal("1.50"), Decimal("100.25")]),
    ([Decimal("NaN")], "string", ["NaN"]),
    ([UUID(int=1), None], "string", [str(UUID(int=1)), None]),
    ([AWARE], "timestamp[us, tz=UTC]", [AWARE]),
    ([NAIVE, AWARE], "string", ['"2026-01-02T03:00:00"', '"2026-01-02T03:00:00Z"']),
    ([date(2026, 1, 2), NAIVE], "string", ['"2026-01-02"', '"2026-01-02T03:00:00"']),
    ([date(2026, 1, 2)], "date32[day]", [date(2026, 1, 2)]),
    ([time(1, 2)], "time64[us]", [time(1, 2)]),
    ([[1, 2], [], None], "list<element: int64>", [[1, 2], [], None]),
    ([[1], ["a"]], "string", ["[1]", '["a"]']),
    ([{"a": 1}, {"b": "x"}], "struct<a: int64, b: string>", [{"a": 1, "b": None}, {"a": None, "b": "x"}]),
    ([{"a": 1}, {"a": "x"}], "string", ['{"a":1}', '{"a":"x"}']),
    ([{}, {}], "string", ["{}", "{}"]),
    ([{"a": {}}], "string", ['{"a":{}}']),
    ([None, None], "null", [None, None]),
]


@pytest.mark.parametrize(("values", "kind", "back"), CASES, ids=lambda each: each if isinstance(each, str) else "")
@pytest.mark.parametrize("at_once", [5000, 1])
def test_types_of_columns(
    values: list[Value], kind: str, back: list[Value], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the values are seen together, or each in a part of its own that is brought to a common type later."""
    monkeypatch.setattr(parquet, "ROWS_PENDING", at_once)
    assert column(values) == (kind, back)


def test_nested_values_as_text_by_option_or_when_there_is_too_much() -> None:
    assert column([{"a": 1}], nested="json") == ("string", ['{"a":1}'])
    kind, read = column([{f"k{each}": each} for each in range(60)])
    assert (kind, read[59]) == ("string", '{"k59":59}')
    deep: Value = 1
    for _ in range(30):
        deep = {"a": deep}
    assert column([deep])[0] == "string"


def test_a_record_with_too_many_fields_is_refused_and_the_others_stay() -> None:
    rows = ParquetRows(Columns(False, "_"), "struct", 3, "zstd")
    for offset, name in enumerate("abc"):
        rows.add(delivered(offset), {name: offset})
    with pytest.raises(ValueError, match="more than 3 columns in one object; see 'columns_max'"):
        rows.add(delivered(3), {"d": 3})
    assert pq.read_table(io.BytesIO(rows.encode("b"))).column_names == ["a", "b", "c"]


def test_rows_without_fields_are_rows() -> None:
    assert written([{}, {}, {}]).num_rows == 3
    assert written([{}, {"a": 1}]).to_pylist() == [{"a": None}, {"a": 1}]


@pytest.mark.parametrize("at_once", [5000, 3])
def test_rows_are_split_by_offset(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "ROWS_PENDING", at_once)
    for at in range(0, 22, 3):
        rows = ParquetRows(Columns(False, "_"), "struct", 50, "snappy")
        for offset in range(0, 20, 2):
            rows.add(delivered(offset), {"n": offset})
        rest = rows.split(at)
        assert len(rows) + len(rest) == 10
        for part, expected in ((rows, range(0, min(at, 20), 2)), (rest, range(at + at % 2, 20, 2))):
            if len(part):
                table = pq.read_table(io.BytesIO(part.encode("b")))
                assert table.column("n").to_pylist() == list(expected)
            else:
                assert not list(expected)


def test_columns_of_metadata_and_the_name_of_the_batch() -> None:
    rows = ParquetRows(Columns(True, "__"), "struct", 50, "zstd")
    rows.add(delivered(7, {"n": 1}, b"\xff", headers=[("h", b"v"), ("none", None)]), {"n": 1})
    data = io.BytesIO(rows.encode("lake/orders/0/7-8"))
    row = pq.read_table(data).to_pylist()[0]
    assert row["__key"] == b"\xff"
    assert (row["__topic"], row["__partition"], row["__offset"]) == ("orders", 0, 7)
    assert row["__timestamp"] == datetime(2026, 11, 18, 1, 0, 0, 7000, tzinfo=UTC)
    assert row["__headers"] == [{"name": "h", "value": b"v"}, {"name": "none", "value": None}]
    assert pq.read_schema(data).metadata[b"barnabas.batch"] == b"lake/orders/0/7-8"
