"""Batches of a topic into a table on disk: real Parquet files and a real log, with Arrow in the place of Spark."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as t

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.lake import checkpoints, now
from barnabas.pipelines.lake.answer import reloaded, rows
from barnabas.pipelines.lake.log import position
from barnabas.pipelines.lake.merging import merge_small_files
from barnabas.pipelines.lake.now import Intake
from barnabas.pipelines.lake.schemas import from_text, merged, to_text
from barnabas.pipelines.lake.table import STAGING, Table
from tests.unit.pipelines.arrow_frames import RECORDS, ArrowFrame, ArrowSession

MOMENT = datetime(2026, 11, 18, 1, 0, tzinfo=UTC)
SPARK = ArrowSession()


class Kept:
    """A shape that keeps records as they are."""

    folders = ("date",)

    def applied(self, records: ArrowFrame) -> ArrowFrame:
        return records


def records(partition: int, first: int, end: int, date: str = "2026-11-18") -> ArrowFrame:
    found = [
        {"value": f"v{offset}", "timestamp": MOMENT, "date": date, "partition": partition, "offset": offset}
        for offset in range(first, end)
    ]
    return ArrowFrame(SPARK, found, RECORDS)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "table")


@pytest.fixture
def intake(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Intake:
    monkeypatch.setattr(now, "not_in_yet", lambda have: lambda row: row["offset"] >= have.get(row["partition"], 0))
    shape: Any = Kept()
    return Intake(table, "events", shape, tmp_path / "checkpoint", keep_ms=0, merge_at=4)


def take(intake: Intake, number: int, batch: ArrowFrame, tmp_path: Path) -> None:
    """As Spark does: it writes down where a batch ends before it begins."""
    plan = tmp_path / "checkpoint" / "offsets" / str(number)
    plan.parent.mkdir(parents=True, exist_ok=True)
    ends: dict[str, int] = {}
    for row in batch.rows:
        ends[str(row["partition"])] = max(ends.get(str(row["partition"]), 0), row["offset"] + 1)
    plan.write_text(f"v1\n{{}}\n{json.dumps({'events': ends})}\n")
    frame: Any = batch
    intake(frame, number)


def offsets(table: Table) -> list[tuple[int, int]]:
    spark: Any = SPARK
    found: Any = table.read(spark)
    return sorted((row["partition"], row["offset"]) for row in found.rows)


def test_a_batch_that_comes_again_adds_nothing_and_one_that_was_cut_otherwise_the_rest(
    table: Table, intake: Intake, tmp_path: Path
) -> None:
    assert not table.exists()
    take(intake, 0, records(0, 0, 10), tmp_path)
    take(intake, 0, records(0, 0, 10), tmp_path)
    assert offsets(table) == [(0, offset) for offset in range(10)]
    take(intake, 1, records(0, 5, 15), tmp_path)  # of a checkpoint that was lost
    take(intake, 2, records(1, 0, 3, "2026-11-19"), tmp_path)
    assert offsets(table) == [*((0, offset) for offset in range(15)), *((1, offset) for offset in range(3))]
    assert table.taken_in("events") == {0: 15, 1: 3}
    assert {each.partition_values["date"] for each in table.files()} == {"2026-11-18", "2026-11-19"}
    stats = [json.loads(each.stats or "{}") for each in table.files()]
    assert sum(each["numRecords"] for each in stats) == 18
    assert {(each["minValues"]["offset"], each["maxValues"]["offset"]) for each in stats} == {(0, 9), (10, 14), (0, 2)}
    assert all(each["minValues"]["timestamp"] == "2026-11-18T01:00:00.000Z" for each in stats)
    assert SPARK.settings["spark.sql.parquet.outputTimestampType"] == "TIMESTAMP_MICROS"
    assert not list((table.place / STAGING).glob("*"))


def test_small_files_become_one_and_old_ones_go(table: Table, intake: Intake, tmp_path: Path) -> None:
    for number in range(1, 5):  # merged when there are four of them
        take(intake, number, records(0, number * 10, number * 10 + 10), tmp_path)
    assert len(table.files()) == 1 and len(offsets(table)) == 40
    on_disk = list((table.place / "date=2026-11-18").glob("*.parquet"))
    assert len(on_disk) == 5  # somebody may be reading them
    assert table.tidy(keep_ms=3_600_000) == 0
    stray = table.place / STAGING / "of-a-killed-writer"
    stray.mkdir(parents=True)
    os.utime(stray, (1, 1))
    assert table.tidy(keep_ms=0) == 4
    assert len(offsets(table)) == 40 and not stray.exists()


def test_files_that_somebody_changed_meanwhile_are_not_merged(
    table: Table, intake: Intake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1, 4):
        take(intake, number, records(0, number * 10, number * 10 + 10), tmp_path)
    before = offsets(table)
    write = Table.write

    def slowly(self: Table, frame: Any, folders: list[str]) -> Any:
        made = write(self, frame, folders)
        gone = self.files()[0]
        self.log.commit(lambda found: [gone.remove(1)], "DELETE")  # another program takes one away
        return made

    monkeypatch.setattr(Table, "write", slowly)
    spark: Any = SPARK
    assert merge_small_files(spark, table, 3, 1 << 30) == (0, 0)
    monkeypatch.undo()
    assert len(offsets(table)) == len(before) - 10
    assert len(list((table.place / "date=2026-11-18").glob("*.parquet"))) == 3  # what was merged in vain is gone


def test_another_program_that_takes_the_topic_is_noticed(
    table: Table, intake: Intake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Table.write
    ends = iter(range(1000))

    def behind(self: Table, frame: Any, folders: list[str]) -> Any:
        made = write(self, frame, folders)
        name = "barnabas/events/0"
        self.log.commit(lambda found: [position(name, next(ends))], "WRITE")
        return made

    monkeypatch.setattr(Table, "write", behind)
    with pytest.raises(PipelineError, match="another program takes events into"):
        take(intake, 0, records(0, 500, 510), tmp_path)
    assert table.files() == [] and list(table.place.rglob("*.parquet")) == []


def test_a_checkpoint_of_the_log_is_written_now_and_then(
    table: Table, intake: Intake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 3)
    for number in range(1, 9):
        take(intake, number, records(0, number * 10, number * 10 + 10, f"2026-11-{number:02d}"), tmp_path)
    assert (table.log.folder / "_last_checkpoint").exists()
    assert len(offsets(Table(table.place))) == 80


def test_an_empty_choice_of_files_has_the_columns_of_the_table(table: Table, intake: Intake, tmp_path: Path) -> None:
    spark: Any = SPARK
    assert table.schema() is None
    take(intake, 1, records(0, 0, 1), tmp_path)
    nothing: Any = table.read(spark, [])
    assert nothing.rows == [] and nothing.schema.names == RECORDS.names


# --- columns over time ----------------------------------------------------------------------------------------------


def test_new_columns_come_behind_the_known_ones_and_none_changes() -> None:
    known = t.StructType().add("a", "long", False).add("b", "string")
    grown = merged(
        known, t.StructType().add("c", t.ArrayType(t.MapType(t.StringType(), t.DateType()))).add("a", "long")
    )
    assert grown.names == ["a", "b", "c"] and all(field.nullable for field in grown.fields)
    assert from_text(to_text(grown)) == grown
    assert merged(None, known).names == ["a", "b"]
    with pytest.raises(PipelineError, match="column 'a' is bigint in the table and would become string"):
        merged(known, t.StructType().add("a", "string"))


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (t.TimestampNTZType(), "column 'x' is timestamp_ntz"),
        (t.ArrayType(t.DayTimeIntervalType()), "column 'x' is interval"),
        (t.MapType(t.StringType(), t.NullType()), "column 'x' is void"),
        (t.StructType().add("inner", t.VariantType()), "column 'x.inner' is variant"),
    ],
)
def test_types_that_a_table_cannot_hold(kind: t.DataType, named: str) -> None:
    with pytest.raises(PipelineError) as problem:
        merged(None, t.StructType().add("x", kind))
    assert named in str(problem.value) and "Cast it" in str(problem.value)


# --- the right answer -----------------------------------------------------------------------------------------------


def test_what_a_table_must_hold_after_a_range_was_loaded_again() -> None:
    class Message:
        def __init__(self, offset: int, value: str | None) -> None:
            self.partition, self.offset, self.timestamp_ms, self.key, self.value = 0, offset, offset * 10, None, value

    messages: Any = [Message(0, "a"), Message(1, "b"), Message(2, "c")]
    before = rows(messages)
    assert before[0, 1] == (10, (None, "b"))
    after = rows(messages, lambda message: None if message.value == "b" else message.value.upper())
    assert reloaded(before, after, lambda place, at: at >= 10) == {(0, 0): (0, (None, "a")), (0, 2): (20, "C")}
