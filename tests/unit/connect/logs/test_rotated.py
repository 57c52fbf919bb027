"""Logs that are renamed, copied and truncated, or deleted while they are read, as logrotate does it: every line once,
in order. tests/connect/logs has logrotate itself, with a writer that never stops."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.connect.connectors.logs import logfiles
from barnabas.connect.connectors.logs.source import LogsSource
from barnabas.connect.errors import Unavailable
from tests.unit.connect.logs.collect import Collector


class Writer:
    """A program that writes numbered lines, and what rotates its log."""

    def __init__(self, path: Path) -> None:
        self.path, self.written = path, 0

    def write(self, count: int) -> None:
        with self.path.open("a") as log:
            for number in range(self.written, self.written + count):
                log.write(f"{number:05d} {'x' * (number % 40)}\n")
        self.written += count

    def _move_up(self) -> None:
        names = sorted(self.path.parent.glob(self.path.name + ".*"), key=lambda each: -int(each.suffix[1:]))
        for each in names:
            each.rename(each.with_suffix(f".{int(each.suffix[1:]) + 1}"))

    def rename(self) -> None:
        self._move_up()
        self.path.rename(self.path.with_name(self.path.name + ".1"))
        self.path.touch()

    def copy_and_truncate(self) -> None:
        self._move_up()
        shutil.copyfile(self.path, self.path.with_name(self.path.name + ".1"))
        os.truncate(self.path, 0)


Rotate = Callable[[Writer], None]


@pytest.mark.parametrize("rotate", [Writer.rename, Writer.copy_and_truncate], ids=["renamed", "truncated"])
@pytest.mark.parametrize("pattern", ["app.log", "app*"])
def test_every_line_once_and_in_order_over_rotations_and_crashes(tmp_path: Path, rotate: Rotate, pattern: str) -> None:
    writer = Writer(tmp_path / "app.log")
    collector = Collector({"paths": f"{tmp_path}/{pattern}"})
    for _ in range(4):
        writer.write(300)
        seen = len(collector.records)
        collector.run(lambda seen=seen: len(collector.records) > seen + 100, crash_every=3, most=60)  # type: ignore[misc]
        rotate(writer)  # in the middle of it
        writer.write(5)
    collector.run(lambda: len(collector.records) >= writer.written, crash_every=3, most=60)
    assert [int(value[:5]) for value in collector.values] == list(range(writer.written))
    assert {record.key for record in collector.records} == {str(writer.path)}


def test_rotations_of_both_kinds_while_nobody_reads(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "app.log")
    collector = Collector({"paths": str(writer.path)})
    writer.write(10)
    collector.run(lambda: len(collector.records) >= 3, most=3)
    writer.write(1)
    for rotate in (Writer.rename, Writer.copy_and_truncate, Writer.copy_and_truncate, Writer.rename):
        rotate(writer)
        writer.write(2)
    collector.run(lambda: len(collector.records) >= writer.written)
    assert [int(value[:5]) for value in collector.values] == list(range(writer.written))


def test_a_deleted_file_is_read_to_its_end_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logfiles, "FORGET_S", 0.0)
    path = tmp_path / "app.log"
    path.write_text("one\ntwo\n")
    collector = Collector({"paths": str(path)})

    def delete_after_one() -> bool:
        if len(collector.records) == 1 and path.exists():
            with path.open("a") as log:
                log.write("three\nwithout end")
            path.unlink()
        return len(collector.records) == 4

    collector.run(delete_after_one, most=1)
    assert collector.values == ["one", "two", "three", "without end"]
    path.write_text("new\n")
    collector.run(lambda: len(collector.records) == 5)
    assert collector.values[-1] == "new"


def test_a_file_that_is_shortened_and_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("a1\na2\na3\n")
    collector = Collector({"paths": str(path)})
    collector.run(lambda: len(collector.records) == 3)
    path.write_text("b1\n")
    collector.run(lambda: len(collector.records) == 4)
    assert collector.values[-1] == "b1"


def test_a_folder_in_the_place_of_a_log_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "app.log").mkdir()
    (tmp_path / "other.log").write_text("one\n")
    collector = Collector({"paths": f"{tmp_path}/*.log"}, str(tmp_path / "other.log"))
    collector.run(lambda: len(collector.records) == 1)
    assert str(tmp_path / "app.log") not in LogsSource("x", {"paths": f"{tmp_path}/*.log"}).splits()


def test_a_log_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app.log"
    path.write_text("one\n")
    source = LogsSource("x", {"paths": str(path)})
    opened = os.open

    def refused(name: str | Path, flags: int, *more: int) -> int:
        if str(name) == str(path):
            raise PermissionError(13, "Permission denied")
        return opened(name, flags, *more)

    monkeypatch.setattr(os, "open", refused)
    reader = source.open(str(path), None)
    try:
        with pytest.raises(Unavailable, match=r"app\.log cannot be read: Permission denied"):
            for _ in range(3):
                reader.read(10, 0.1)
    finally:
        monkeypatch.undo()
        reader.close()


def test_several_lines_are_one_event_over_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("ERROR one\n  at a\n  at b\nERROR two\n")
    rule = {"first": "^ERROR", "timeout_s": 0.1}
    collector = Collector({"paths": str(path), "multiline": rule})
    collector.run(lambda: len(collector.records) >= 1)
    with path.open("a") as log:
        log.write("  at c\n")
    path.rename(tmp_path / "app.log.1")
    path.write_text("ERROR three\n")
    collector.run(lambda: len(collector.records) >= 3)
    assert collector.values[0] == "ERROR one\n  at a\n  at b" and collector.values[-1] == "ERROR three"
