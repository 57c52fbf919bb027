"""Files as they are in the wild: half lines, long ones, other encodings, the same first line in each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.connect.connectors.logs import folders, logfiles
from barnabas.connect.connectors.logs.source import LogsSource
from barnabas.connect.errors import Unavailable
from tests.unit.connect.logs.collect import Collector


def test_half_a_line_waits_for_its_end(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("one\ntw")
    collector = Collector({"paths": str(path)})
    collector.run(lambda: len(collector.records) >= 1)
    source = LogsSource("x", {"paths": str(path)})
    reader = source.open(str(path), collector.position)
    assert reader.read(10, 0.2) is None
    with path.open("a") as log:
        log.write("o\nthree\n")
    chunk = reader.read(10, 5)
    assert chunk is not None
    assert [record.value for record in chunk.records] == ["two", "three"]
    reader.close()


def test_half_a_line_goes_out_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("one\ntw")
    collector = Collector({"paths": str(path), "line_timeout_s": 0.1})
    collector.run(lambda: len(collector.records) == 2)
    with path.open("a") as log:
        log.write("o\nthree\n")
    collector.run(lambda: len(collector.records) == 4)
    assert collector.values == ["one", "tw", "o", "three"]


def test_long_lines_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text("short\n" + "x" * 3_000_000 + "\nshort\n" + "y" * 101 + "\nend\n")
    collector = Collector({"paths": str(path), "max_line_bytes": 100})
    collector.run(lambda: len(collector.records) == 5, crash_every=1, most=1)
    assert collector.values == [
        "short",
        "x" * 100 + " [cut: 2999900 bytes more]",
        "short",
        "y" * 100 + " [cut: 1 bytes more]",
        "end",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16", "utf-16-be", "shift_jis"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    lines = ["erste Zeile", "日本" if encoding == "shift_jis" else "größer", "", "end"]
    (tmp_path / "app.log").write_bytes("".join(line + "\r\n" for line in lines).encode(encoding))
    collector = Collector({"paths": str(tmp_path / "app.log"), "encoding": encoding.removesuffix("-sig")})
    collector.run(lambda: len(collector.records) == 4, crash_every=1, most=2)
    assert collector.values == lines


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_bytes(b"a\xff\xfe\n\x00\n\xc3\n")
    text = Collector({"paths": str(tmp_path / "app.log")})
    text.run(lambda: len(text.records) == 3)
    assert text.values == ["a\ufffd\ufffd", "\0", "\ufffd"]
    raw = Collector({"paths": str(tmp_path / "app.log"), "value": "bytes"})
    raw.run(lambda: len(raw.records) == 3)
    assert raw.values == [b"a\xff\xfe", b"\0", b"\xc3"]


def test_files_that_begin_with_the_same_line(tmp_path: Path) -> None:
    """A header in each: a file that was written anew is new, whether it is shorter or longer by now."""
    path = tmp_path / "table.csv"
    collector = Collector({"paths": str(path)})
    expected: list[str] = []
    for number, rows in enumerate((3, 5, 1, 8)):
        lines = ["name,value", *(f"row {number} {row}," for row in range(rows))]
        path.write_text("".join(line + "\n" for line in lines))
        expected += lines
        collector.run(lambda: len(collector.records) >= len(expected))  # noqa: B023
    path.rename(tmp_path / "table.csv.1")
    path.write_text("name,value\n")
    expected += ["name,value"]
    collector.run(lambda: len(collector.records) >= len(expected))
    with (tmp_path / "table.csv.1").open("a") as log:
        log.write("late,\n")
    expected += ["late,"]
    collector.run(lambda: len(collector.records) >= len(expected))
    assert collector.values == expected


def test_an_inode_that_is_used_again(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    collector = Collector({"paths": str(path)})
    for number in range(20):
        path.write_text(f"{number}\n")
        collector.run(lambda number=number: len(collector.records) > number)  # type: ignore[misc]
        path.unlink()
    assert collector.values == [str(number) for number in range(20)]


def test_a_writer_that_does_not_append_leaves_a_hole(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    collector = Collector({"paths": str(path)})
    log = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.write(log, b"before\n" * 10_000)
    collector.run(lambda: len(collector.records) == 10_000)
    os.truncate(path, 0)
    os.write(log, b"after\n")
    os.close(log)
    collector.run(lambda: len(collector.records) == 10_001)
    assert collector.values[-1].lstrip("\0") == "after"
    assert len(collector.values[-1]) < 5000


def test_rotated_files_of_before_are_not_read(tmp_path: Path) -> None:
    for name in ("app.log.2", "app.log.1", "app.log"):
        (tmp_path / name).write_text(f"{name} line\n")
    collector = Collector({"paths": str(tmp_path / "app.log")})
    collector.run(lambda: len(collector.records) == 1)
    (tmp_path / "app.log.1").rename(tmp_path / "app.log.3")
    (tmp_path / "app.log").rename(tmp_path / "app.log.1")
    (tmp_path / "app.log").write_text("next\n")
    collector.run(lambda: len(collector.records) == 2)
    assert collector.values == ["app.log line", "next"]


def test_files_of_one_log_are_read_in_the_order_of_their_times(tmp_path: Path) -> None:
    for age, name in enumerate(("app-2026-11-03.log", "app-2026-11-02.log", "app-2026-11-01.log")):
        (tmp_path / name).write_text(f"{name} 1\n{name} 2\n")
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    collector = Collector({"paths": f"{tmp_path}/app-*.log"})
    collector.run(lambda: len(collector.records) == 6, most=1, crash_every=2)
    assert collector.values == [f"app-2026-11-0{day}.log {line}" for day in (1, 2, 3) for line in (1, 2)]
    assert collector.records[0].headers == (("path", f"{tmp_path}/app-2026-11-01.log".encode()),)


def test_a_position_does_not_grow_with_files_that_are_long_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfiles, "ENTRIES_MAX", 10)
    monkeypatch.setattr(logfiles, "OPEN_MAX", 5)
    for number in range(50):
        (tmp_path / f"app-{number}.log").write_text(f"{number}\n")
        os.utime(tmp_path / f"app-{number}.log", (1e9 + number, 1e9 + number))
    collector = Collector({"paths": f"{tmp_path}/*.log"})
    collector.run(lambda: len(collector.records) == 50 and len((collector.position or {})["files"]) == 10, timeout_s=40)
    with (tmp_path / "app-49.log").open("a") as log:
        log.write("more\n")
    (tmp_path / "app-50.log").write_text("50\n")
    collector.run(lambda: len(collector.records) >= 52, crash_every=2)
    assert collector.values[:50] == [str(number) for number in range(50)]
    assert sorted(collector.values[50:]) == ["50", "more"]


def test_behind_and_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app.log"
    path.write_text("one\ntwo\n")
    source = LogsSource("x", {"paths": str(path)})
    reader = source.open(str(path), None)
    reader.read(1, 1)
    behind = reader.behind()
    assert behind is not None
    assert behind.bytes == 4
    reader.close()
    monkeypatch.setattr(folders, "FILES_MAX", 5)
    for number in range(5):
        (tmp_path / f"app.log.{number}").touch()
    with pytest.raises(Unavailable, match="more than 5 files"):
        source.open(str(path), None).read(1, 0)
