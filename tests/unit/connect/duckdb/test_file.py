"""The file: one process at a time, and what is said otherwise. Rows and offsets: tests/connect/relational."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from barnabas.connect.connectors.duckdb.sink import DuckdbSink
from barnabas.connect.errors import BadOption, Unavailable
from tests.connect.relational.targets import record, write
from tests.support.process import end

HOLD = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


def hold(path: Path) -> subprocess.Popen[str]:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None and other.stdout.readline() == "open\n"
    return other


def test_a_file_that_another_process_has_open(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    sink = DuckdbSink("orders", {"path": str(path)})
    other = hold(path)
    try:
        with pytest.raises(Unavailable, match=rf"opened by another process \(python.*, pid {other.pid}\).*release"):
            sink.open("orders", 0)
    finally:
        end(other)
    assert write(sink.open("orders", 0), [record(0, {"n": 1}, {"id": 1})]) == []
    sink.close()


def test_a_file_that_is_released_can_be_read_between_batches(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    sink = DuckdbSink("orders", {"path": str(path), "release": True})
    writer = sink.open("orders", 0)
    for offset in range(3):
        assert write(writer, [record(offset, {"n": offset}, {"id": offset})]) == []
        command = "import duckdb, sys; print(duckdb.connect(sys.argv[1], read_only=True).table('orders').fetchall())"
        seen = subprocess.run([sys.executable, "-c", command, str(path)], capture_output=True, text=True, check=True)
        assert f"({offset}, {offset})" in seen.stdout
    sink.close()


def test_columns_that_differ_in_case_are_one(tmp_path: Path) -> None:
    sink = DuckdbSink("orders", {"path": str(tmp_path / "w.db")})
    batch = [record(0, {"Name": "a"}, {"id": 1}), record(1, {"name": "b"}, {"ID": 2})]
    batch.append(record(2, {"name": "c", "NAME": "d"}, {"id": 3}))
    assert write(sink.open("orders", 0), batch) == [
        (2, "two of its fields differ in case only, and would be one column")
    ]
    sink.close()
    with duckdb.connect(str(tmp_path / "w.db")) as connection:
        assert connection.execute("select id, name from orders order by id").fetchall() == [(1, "a"), (2, "b")]


def test_decimals_that_would_be_rounded_are_rejected(tmp_path: Path) -> None:
    sink = DuckdbSink("orders", {"path": str(tmp_path / "w.db")})
    values = [
        Decimal("1.5"),
        Decimal("0.12345678901"),
        Decimal("1e35"),
        1 / 3,
        float("inf"),
        float("nan"),
        Decimal("NaN"),
    ]
    batch = [record(n, {"price": value}, {"id": n}) for n, value in enumerate(values)]
    rejected = write(sink.open("orders", 0), batch)
    sink.close()
    assert [offset for offset, _ in rejected] == [1, 2, 4, 5, 6]
    with duckdb.connect(str(tmp_path / "w.db")) as connection:
        found = connection.execute("select id, price from orders order by id").fetchall()
    assert found == [(0, Decimal("1.5")), (3, Decimal("0.333333333"))]


@pytest.mark.parametrize("path", ["", ":memory:", "md:cloud", "s3://bucket/x.db", "/no/such/folder/x.db"])
def test_paths_that_cannot_work(path: str) -> None:
    with pytest.raises(BadOption, match="option 'path' of duckdb"):
        DuckdbSink("orders", {"path": path})


def test_a_file_that_is_something_else(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database\n" * 1000)
    with pytest.raises(Unavailable, match="not a valid DuckDB database file"):
        DuckdbSink("orders", {"path": str(path)}).open("orders", 0)
