"""Real logrotate, under a writer that never stops, with readers that crash: every line once, in order."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.members import until
from tests.support.process import end
from tests.unit.connect.logs.collect import Collector

# Appends numbered lines, a line to a write, and opens the file anew at SIGHUP as daemons do.
WRITER = """
import os, signal, sys, time
path, number, open_again = sys.argv[1], 0, True
def hup(*_):
    global open_again
    open_again = True
signal.signal(signal.SIGHUP, hup)
while True:
    if open_again:
        open_again = False
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for _ in range(25):
        os.write(log, b"%07d %s\\n" % (number, b"x" * (number % 60)))
        number += 1
    time.sleep(0.004)
"""


@contextmanager
def writer(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)])
    try:
        until(lambda: path.exists() and path.stat().st_size > 0, "the first line")
        yield process
    finally:
        end(process)


class Logrotate:
    def __init__(self, folder: Path, path: Path, *words: str) -> None:
        self.folder, self.path = folder, path
        self.state, self.config = folder / "logrotate.state", folder / "logrotate.conf"
        lines = "\n".join(f"    {word}" for word in words)
        self.config.write_text(f"{path} {{\n    size 1\n    rotate 100\n    missingok\n{lines}\n}}\n")

    def run(self) -> None:
        command = ["/usr/sbin/logrotate", "--force", "--state", str(self.state), str(self.config)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr

    def repeatedly(self, times: int, pause_s: float) -> threading.Thread:
        def run() -> None:
            for _ in range(times):
                time.sleep(pause_s)  # how long a file grows, not a wait for anything
                self.run()

        thread = threading.Thread(target=run)
        thread.start()
        return thread


def rotated(path: Path) -> list[Path]:
    """Oldest first, the log itself last."""
    files = sorted(path.parent.glob(path.name + ".*"), key=lambda each: -int(each.suffix[1:]))
    return [*files, path]


@pytest.mark.parametrize("pattern", ["app.log", "app*"])
def test_renamed_and_compressed(tmp_path: Path, pattern: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    path = logs / "app.log"
    collector = Collector({"paths": f"{logs}/{pattern}"})
    with writer(path) as process:
        logrotate = Logrotate(
            tmp_path, path, "compress", "delaycompress", "nocreate", f"postrotate\n kill -HUP {process.pid}\nendscript"
        )
        rotating = logrotate.repeatedly(5, 0.4)
        collector.run(lambda: not rotating.is_alive(), crash_every=6)
        process.send_signal(signal.SIGSTOP)
        last = int(path.read_bytes().splitlines()[-1][:7])
        collector.run(lambda: bool(collector.records) and int(collector.values[-1][:7]) == last, crash_every=6)
    assert len(list(logs.glob("*.gz"))) == 4
    assert [int(value[:7]) for value in collector.values] == list(range(last + 1))
    assert {record.key for record in collector.records} == {str(path)}
    assert all(value == f"{number:07d} {'x' * (number % 60)}" for number, value in enumerate(collector.values))


@pytest.mark.parametrize("pattern", ["app.log", "app*"])
def test_copied_and_truncated(tmp_path: Path, pattern: str) -> None:
    """What logrotate itself loses between copy and truncation is in no file, and may have been read or not; all the
    rest is read, and everything once."""
    logs = tmp_path / "logs"
    logs.mkdir()
    path = logs / "app.log"
    collector = Collector({"paths": f"{logs}/{pattern}"})
    with writer(path) as process:
        rotating = Logrotate(tmp_path, path, "copytruncate").repeatedly(5, 0.4)
        collector.run(lambda: not rotating.is_alive(), crash_every=6)
        process.send_signal(signal.SIGSTOP)
        assert len(rotated(path)) == 6
        # logrotate may copy half of a line.
        expected = [line for each in rotated(path) for line in each.read_text().split("\n")[:-1]]
        collector.run(lambda: bool(collector.records) and collector.values[-1] == expected[-1], crash_every=6)
    assert sorted(set(collector.values)) == collector.values
    assert set(expected) <= set(collector.values)


def test_rotation_while_nobody_reads(tmp_path: Path) -> None:
    """Several rotations of each kind between two readers."""
    logs = tmp_path / "logs"
    logs.mkdir()
    path = logs / "app.log"
    collector = Collector({"paths": str(path)})
    path.write_text("".join(f"a {number}\n" for number in range(10)))
    collector.run(lambda: len(collector.records) >= 3, most=3)
    with path.open("a") as log:
        log.write("end of a\n")
    rename, copy = Logrotate(tmp_path, path, "create"), Logrotate(tmp_path, path, "copytruncate")
    for name, rotate in (("b", rename), ("c", copy), ("d", copy), ("e", rename)):
        rotate.run()
        with path.open("a") as log:
            log.write(f"{name} 1\n{name} 2\n")
    expected = [*(f"a {number}" for number in range(10)), "end of a"]
    expected += [f"{name} {number}" for name in "bcde" for number in (1, 2)]
    collector.run(lambda: len(collector.records) >= len(expected))
    assert collector.values == expected


def test_a_deleted_file_is_read_to_its_end(tmp_path: Path) -> None:
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
