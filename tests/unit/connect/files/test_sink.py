"""Files of lines, by writers that crash and are given overlapping batches."""

from __future__ import annotations

import gc
import gzip
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.connect.connectors.files.sink import FilesSink, FilesWriter
from barnabas.connect.connectors.files.source import FilesSource
from barnabas.connect.contract import Delivered, Value
from barnabas.connect.errors import BadOption, Unavailable
from tests.support.delivered import delivered, numbered
from tests.support.members import until
from tests.support.paths import ROOT
from tests.support.process import end


def opened(folder: Path, name: str = "out", **options: Value) -> FilesWriter:
    return FilesSink(name, {"folder": str(folder), **options}).open("orders", 0)


def kept(folder: Path) -> int | None:
    writer = opened(folder)
    try:
        return writer.next_offset()
    finally:
        writer.close()


def lines(folder: Path) -> list[bytes]:
    found = []
    for path in sorted((folder / "orders" / "0").glob("*.jsonl*")):
        data = path.read_bytes()
        found += (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines()
    return found


def test_names_and_values(tmp_path: Path) -> None:
    writer = opened(tmp_path, max_records=4)
    assert writer.next_offset() is None
    records = [delivered(5, {"a": 1}), delivered(6, "text"), delivered(7, b"raw\xff"), delivered(8, None)]
    bad = [delivered(9, "two\nlines"), delivered(10, {1j: 1})]
    assert writer.flush(False) is None
    assert writer.write(records[:2], 7) == []
    assert writer.flush(False) == 5  # everything before it
    rejected = writer.write([*records[2:], *bad], 12)
    assert [each.record.offset for each in rejected] == [9, 10]
    assert writer.flush(False) == 12
    assert writer.write([], 15) == []
    assert writer.flush(False) == 15
    writer.close()
    folder = tmp_path / "orders" / "0"
    assert [each.name for each in folder.glob("[!.]*")] == ["00000000000000000005-00000000000000000012.jsonl"]
    assert lines(tmp_path) == [b'{"a":1}', b"text", b"raw\xff", b"null"]
    assert kept(tmp_path) == 12


def test_whole_records_compressed(tmp_path: Path) -> None:
    writer = opened(tmp_path, lines="record", compression="gzip")
    writer.write([delivered(0, {"a": 1}, b"k", headers=[("h", b"\xff"), ("n", None)]), delivered(1, "two\nlines")], 2)
    assert writer.flush(True) == 2
    writer.close()
    first, second = map(json.loads, lines(tmp_path))
    expected = {"topic": "orders", "partition": 0, "offset": 0, "key": "k", "value": {"a": 1}}
    assert first == {**expected, "timestamp": first["timestamp"], "headers": [["h", "/w=="], ["n", None]]}
    assert second["value"] == "two\nlines"


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_once_over_crashes(tmp_path: Path, compression: str) -> None:
    """Batches cut anyhow, writers closed anywhere; what the target says is what comes next."""
    rng = random.Random(7)
    records = numbered(0, 2000)
    at = 0
    while at < 2000:
        writer = opened(tmp_path, compression=compression, max_records=150)
        at = writer.next_offset() or 0
        for _ in range(rng.randint(1, 12)):
            until_offset = min(2000, at + rng.randint(1, 60))
            writer.write(records[at:until_offset], until_offset)
            at = until_offset
            if rng.random() < 0.1:
                assert writer.flush(True) == at
        if at == 2000:
            writer.flush(True)
        writer.close()
    assert [json.loads(line)["number"] for line in lines(tmp_path)] == list(range(2000))
    names = [each.name for each in (tmp_path / "orders" / "0").iterdir() if not each.name.startswith(".")]
    assert all("unfinished" not in name for name in names)


KILLED = """
import sys
from barnabas.connect.connectors.files.sink import FilesSink
from tests.support.delivered import numbered
writer = FilesSink("out", {"folder": sys.argv[1], "max_records": 40}).open("orders", 0)
at = writer.next_offset() or 0
while True:
    writer.write(numbered(at, at + 7), at + 7)
    at += 7
"""


def test_a_process_that_is_killed(tmp_path: Path) -> None:
    for _ in range(3):
        before = len(lines(tmp_path))
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT)
        try:
            until(lambda: len(lines(tmp_path)) > before + 200, "files")  # noqa: B023
            process.send_signal(signal.SIGKILL)
        finally:
            end(process)
        found = [json.loads(line)["number"] for line in lines(tmp_path)]
        assert found == list(range(len(found)))
        assert kept(tmp_path) == len(found)


def test_others_take_the_files_away(tmp_path: Path) -> None:
    writer = opened(tmp_path)
    writer.write(numbered(0, 10), 10)
    writer.flush(True)
    writer.close()
    for path in (tmp_path / "orders" / "0").glob("*.jsonl"):
        path.unlink()
    assert kept(tmp_path) == 10


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    writer = opened(tmp_path)
    with pytest.raises(Unavailable, match="another worker writes to"):
        opened(tmp_path)
    writer.close()
    opened(tmp_path).close()
    with pytest.raises(Unavailable, match=r"connector 'out' writes to .*Give each a folder"):
        opened(tmp_path, name="other")


def test_reset(tmp_path: Path) -> None:
    sink = FilesSink("out", {"folder": str(tmp_path)})
    for offset, again in ((0, ""), (4, ".r1"), (0, ".r2")):
        if again:
            sink.reset("orders", 0, offset)
        writer = sink.open("orders", 0)
        assert (writer.next_offset() or 0) == offset
        writer.write(numbered(offset, 10), 10)
        writer.flush(True)
        writer.close()
        assert (tmp_path / "orders" / "0" / f"{offset:020}-{10:020}{again}.jsonl").exists()
    assert kept(tmp_path) == 10


def test_redriven_records_have_their_own_places(tmp_path: Path) -> None:
    writer = FilesSink("out", {"folder": str(tmp_path)}).open("out.redrive", 0)
    writer.write([Delivered("orders", 3, 900, 0, "k", "v", redriven_at=17)], 18)
    assert writer.flush(True) == 18
    assert (tmp_path / "out.redrive" / "0" / f"{17:020}-{18:020}.jsonl").exists()
    writer.close()


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_what_has_gathered_is_given_up_without_a_trace(tmp_path: Path, compression: str) -> None:
    writer = opened(tmp_path, compression=compression)
    writer.write(numbered(0, 10), 10)
    writer.close()
    del writer
    gc.collect()  # whatever fails when it is collected fails this test
    assert [each.name for each in (tmp_path / "orders" / "0").glob("[!.]*")] == []
    assert kept(tmp_path) is None


def test_a_full_disk(tmp_path: Path) -> None:
    """/dev/full is one."""
    writer = opened(tmp_path)
    (tmp_path / "orders" / "0" / f"{0:020}.unfinished").symlink_to("/dev/full")
    with pytest.raises(Unavailable, match="cannot be written to: No space left on device"):
        for first in range(0, 10_000, 1000):
            writer.write(numbered(first, first + 1000), first + 1000)
        writer.flush(True)
    writer.close()
    writer = opened(tmp_path)
    assert writer.next_offset() is None
    writer.write(numbered(0, 10), 10)
    assert writer.flush(True) == 10
    writer.close()


def test_what_the_source_reads_of_it(tmp_path: Path) -> None:
    writer = opened(tmp_path, max_records=10)
    for first in range(0, 50, 10):
        writer.write(numbered(first, first + 10), first + 10)
    source = FilesSource("in", {"folder": f"{tmp_path}/orders/0", "settle_s": 0})
    reader = source.open("folder", None)
    found: list[Value] = []
    while (chunk := reader.read(7, 0)) is not None:
        found += [json.loads(record.value)["number"] for record in chunk.records]
    reader.close()
    writer.close()
    assert found == list(range(50))


def test_what_cannot_be_right(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="does not begin with /"):
        FilesSink("x", {"folder": "out"})
    with pytest.raises(BadOption, match="above 0"):
        FilesSink("x", {"folder": "/out", "max_s": 0})
    with pytest.raises(BadOption, match="cannot name a folder"):
        FilesSink("x", {"folder": str(tmp_path)}).open("../up", 0)
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be written to: Not a directory"):
        FilesSink("x", {"folder": str(tmp_path / "file")}).open("orders", 0)
    opened(tmp_path).close()
    (tmp_path / "orders" / "0" / ".next.json").write_text("{")
    with pytest.raises(Unavailable, match="is not what was written there"):
        opened(tmp_path)
    assert os.listdir(tmp_path / "orders") == ["0"]  # noqa: PTH208
