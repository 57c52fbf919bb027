"""Files that appear, read by readers that crash."""

from __future__ import annotations

import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.connect.connectors.files import source as files_source
from barnabas.connect.connectors.files.source import FilesSource
from barnabas.connect.contract import Position, Record, Value
from barnabas.connect.errors import BadOption, Unavailable
from tests.support.members import until


class Collector:
    """Reads as the runtime does: a crash forgets what came after the last position."""

    def __init__(self, folder: Path, **options: Value) -> None:
        self.options: dict[str, Value] = {"folder": str(folder), "settle_s": 0.0, **options}
        self.records: list[Record] = []
        self.position: Position | None = None
        self.rng = random.Random(7)

    @property
    def values(self) -> list[Value]:
        return [record.value for record in self.records]

    def run(self, enough: Callable[[], bool], crash_every: int = 0, most: int = 100) -> None:
        until(lambda: self._session(enough, crash_every, most), "enough records")

    def _session(self, enough: Callable[[], bool], crash_every: int, most: int) -> bool:
        source = FilesSource("files", self.options)
        reader = source.open(source.splits()[0], json.loads(json.dumps(self.position)))
        try:
            for _ in range(self.rng.randint(1, 2 * crash_every) if crash_every else 10**6):
                chunk = reader.read(self.rng.randint(1, most), 0.1)
                if chunk is not None:
                    self.records += chunk.records
                    self.position = json.loads(json.dumps(chunk.position))
                    if not crash_every or self.rng.random() < 0.7:
                        reader.committed(chunk.position)
                if enough():
                    return True
            reader.read(most, 0.05)  # nobody gets to see it
        finally:
            reader.close()
        return False


def _read_once(source: FilesSource, position: Position | None) -> None:
    reader = source.open("folder", position)
    try:
        reader.read(1, 0)
    finally:
        reader.close()


def put(folder: Path, name: str, text: str | bytes) -> None:
    """As a program does that knows of us: whole, by renaming it."""
    data = text if isinstance(text, bytes) else text.encode()
    (folder / f".{name}.tmp").write_bytes(data)
    (folder / f".{name}.tmp").rename(folder / name)


@pytest.mark.parametrize("done", ["leave", "move", "delete"])
def test_lines_once_over_crashes(tmp_path: Path, done: str) -> None:
    folder, moved = tmp_path / "in", tmp_path / "done"
    folder.mkdir()
    collector = Collector(folder, done=done, **({"done_folder": str(moved)} if done == "move" else {}))

    def produce() -> None:
        for number in range(30):
            put(folder, f"file-{number}.txt", "".join(f"{number} {line}\n" for line in range(number * 7)))
            time.sleep(0.01)  # they come one after the other

    thread = threading.Thread(target=produce)
    thread.start()
    total = sum(number * 7 for number in range(30))
    collector.run(lambda: len(collector.records) >= total, crash_every=4, most=60)
    thread.join()
    collector.run(lambda: not thread.is_alive() and _is_quiet(collector, folder, done))
    assert collector.values == [f"{number} {line}" for number in range(30) for line in range(number * 7)]
    names = sorted(each.name for each in (folder if done == "leave" else moved).glob("*"))
    assert names == ([] if done == "delete" else sorted(f"file-{number}.txt" for number in range(30)))
    assert collector.records[0].key == "file-1.txt"
    assert collector.records[0].headers == (("path", str(folder / "file-1.txt").encode()),)


def _is_quiet(collector: Collector, folder: Path, done: str) -> bool:
    return len((collector.position or {})["done"]) == 30 if done == "leave" else not list(folder.iterdir())


def test_whole_files(tmp_path: Path) -> None:
    collector = Collector(tmp_path, each="file", value="bytes", pattern="*.bin")
    put(tmp_path, "a.bin", bytes(range(256)))
    put(tmp_path, "b.bin", b"")
    put(tmp_path, "c.txt", b"x")
    (tmp_path / "folder.bin").mkdir()
    (tmp_path / "d.bin.part").write_bytes(b"not yet")
    collector.run(lambda: len(collector.records) >= 2, crash_every=1, most=1)
    assert [(record.key, record.value) for record in collector.records] == [
        ("a.bin", bytes(range(256))),
        ("b.bin", b""),
    ]
    assert collector.records[0].timestamp_ms == (tmp_path / "a.bin").stat().st_mtime_ns // 1_000_000


def test_a_file_that_is_too_large_is_not_lost(tmp_path: Path) -> None:
    put(tmp_path, "large", b"x" * 2000)
    source = FilesSource("x", {"folder": str(tmp_path), "each": "file", "settle_s": 0, "max_file_bytes": 1000})
    with pytest.raises(Unavailable, match="large has 2000 bytes, and max_file_bytes is 1000"):
        _read_once(source, None)
    collector = Collector(tmp_path, each="file")
    collector.run(lambda: len(collector.records) == 1)


def test_long_lines_and_encodings(tmp_path: Path) -> None:
    put(tmp_path, "a", "kurz\r\n" + "x" * 3000 + "\nohne Ende")
    collector = Collector(tmp_path, max_line_bytes=100)
    collector.run(lambda: len(collector.records) >= 3, crash_every=1, most=1)
    assert collector.values == ["kurz", "x" * 100 + " [cut: 2900 bytes more]", "ohne Ende"]
    for encoding, text in (
        ("utf-16-le", "größer\r\n\u0a00\n"),
        ("UTF_16_BE", "a\nb"),
        ("cp1252", "größer\n"),
        ("utf-8", "\ufeffa"),
    ):
        (folder := tmp_path / encoding).mkdir()
        put(folder, "a", text.encode(encoding))
        collector = Collector(folder, encoding=encoding)
        expected = text.replace("\r", "").removeprefix("\ufeff").rstrip("\n").split("\n")
        collector.run(lambda: len(collector.records) >= len(expected), crash_every=1, most=1)  # noqa: B023
        assert collector.values == expected


def test_a_file_waits_until_it_is_settled(tmp_path: Path) -> None:
    collector = Collector(tmp_path, settle_s=0.5)
    began = time.monotonic()
    (tmp_path / "a").write_text("one\n")
    collector.run(lambda: len(collector.records) == 1)
    assert time.monotonic() - began >= 0.4


def test_a_file_that_changes_is_another(tmp_path: Path) -> None:
    put(tmp_path, "a", "one\n")
    collector = Collector(tmp_path)
    collector.run(lambda: len(collector.records) == 1)
    put(tmp_path, "a", "one\ntwo\n")
    collector.run(lambda: len(collector.records) == 3)
    with (tmp_path / "a").open("a") as file:
        file.write("three\n")
    collector.run(lambda: len(collector.records) == 6)
    os.utime(tmp_path / "a", (1, 1))
    collector.run(lambda: len(collector.records) == 9)
    assert collector.values == ["one", "one", "two", "one", "two", "three", "one", "two", "three"]


def test_a_folder_that_goes_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read again after a while without the disk; after a long while, what is finished is forgotten."""
    folder, away = tmp_path / "in", tmp_path / "away"
    folder.mkdir()
    put(folder, "a", "one\n")
    collector = Collector(folder)
    collector.run(lambda: len(collector.records) == 1)
    folder.rename(away)
    source = FilesSource("x", collector.options)
    with pytest.raises(Unavailable, match="cannot be listed: No such file or directory"):
        _read_once(source, collector.position)
    folder.mkdir()
    put(folder, "b", "two\n")
    collector.run(lambda: len(collector.records) == 2)
    shutil.rmtree(folder)
    away.rename(folder)
    put(folder, "c", "three\n")
    collector.run(lambda: len(collector.records) == 3)
    assert collector.values == ["one", "two", "three"]
    monkeypatch.setattr(files_source, "FORGET_S", 0.0)
    monkeypatch.setattr(files_source, "SCAN_S", 0.0)
    put(folder, "d", "four\n")
    collector.run(lambda: len(collector.records) == 4)
    put(folder, "e", "five\n")
    collector.run(lambda: len(collector.records) == 5)
    assert len((collector.position or {})["done"]) in (4, 5)  # not b, perhaps since the last listing only


def test_too_many_files(tmp_path: Path) -> None:
    for number in range(6):
        put(tmp_path, str(number), "x\n")
    source = FilesSource("x", {"folder": str(tmp_path), "max_files": 5})
    with pytest.raises(Unavailable, match="has more than 5 files"):
        _read_once(source, None)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff\xfe\n")).write_text("one\n")
    collector = Collector(tmp_path)
    collector.run(lambda: len(collector.records) == 1)
    assert collector.records[0].key == "\ufffd\ufffd\n"
    json.dumps(collector.position)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs the option 'folder'"),
        ({"folder": "in"}, "does not begin with /"),
        ({"folder": "/in", "done": "move"}, "go together"),
        ({"folder": "/in", "done_folder": "/done"}, "go together"),
        ({"folder": "/in", "done": "move", "done_folder": "/in/"}, "is 'folder' itself"),
        ({"folder": "/in", "encoding": "utf-9"}, "there is no 'utf-9'"),
        ({"folder": "/in", "encoding": "utf-16"}, "utf-16-le"),
        ({"folder": "/in", "max_files": 0}, "'max_files'"),
    ],
)
def test_options_that_cannot_be_right(options: dict[str, Value], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        FilesSource("x", options)
