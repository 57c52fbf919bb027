"""Installs pinned requirements with pip, and shows what is fetched, how much of it, and what it is for.

    python tools/install.py requirements/run.txt

The largest part of a set-up is one download of half a gigabyte. On a terminal there is a bar; elsewhere a line for each
large part. pip writes what it downloads to its temporary folder, which is where the bytes are counted.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TextIO

LARGE_BYTES = 20_000_000
_BAR = 24
_DRAW_S = 0.2
_UNITS = {"B": 1, "bytes": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_DOWNLOADING = re.compile(r"^\s*(?:Downloading|Using cached) (\S+) \(([0-9.]+) ?([A-Za-z]+)\)")
_BUILDING = re.compile(r"^\s*Building wheel for (\S+) .*: started")
_INSTALLING = re.compile(r"^Installing collected packages: (.*)")
FOR = {
    "pyspark": "Spark, which the pipelines run on",
    "pyarrow": "columns between Python and Spark",
    "pandas": "tables of the pipelines",
    "duckdb": "a warehouse for connectors",
    "numpy": "numbers of the pipelines",
    "confluent_kafka": "the Kafka client",
    "grpcio": "Spark Connect",
    "obstore": "object storage for connectors",
    "mypy": "the checks",
    "playwright": "the tests of the console",
}


def package_of(file: str) -> str:
    """Of a wheel's or an archive's name."""
    return re.split(r"-\d", file.rsplit("/", 1)[-1], maxsplit=1)[0].replace("-", "_").lower()


class Told:
    """What pip has said so far."""

    def __init__(self) -> None:
        self.doing = "looking up what is needed"
        self.total = 0  # bytes of the download that is running; 0: none is
        self.fetched = 0  # bytes of those before it

    def line(self, text: str) -> str | None:
        """What to say about it where there is no bar; None: nothing."""
        if found := _DOWNLOADING.match(text):
            package, size = package_of(found[1]), int(float(found[2]) * _UNITS.get(found[3], 1))
            self.fetched += self.total
            self.total = size
            purpose = FOR.get(package, "")
            self.doing = f"{package}{f' ({purpose})' if purpose else ''}"
            return f"  fetching {self.doing}, {size / 1e6:.0f} MB" if size >= LARGE_BYTES else None
        if found := _BUILDING.match(text):
            self._done(f"unpacking {found[1]}")
            return f"  {self.doing}"
        if found := _INSTALLING.match(text):
            self._done(f"installing {len(found[1].split(','))} packages")
            return f"  {self.doing}"
        return None

    def _done(self, doing: str) -> None:
        self.fetched += self.total
        self.total, self.doing = 0, doing


def drawn(told: Told, here: int, seconds: float) -> str:
    """A line of at most 79 characters; `here` are the bytes of the running download."""
    if not told.total:
        return f"  {told.doing} ... {seconds:.0f} s"[:79]
    part = min(1.0, here / told.total)
    bar = ("#" * round(part * _BAR)).ljust(_BAR, ".")
    text = f"  [{bar}] {here / 1e6:4.0f} of {told.total / 1e6:.0f} MB  {told.doing}"
    return text[:79]


def newest_size(folder: Path) -> int:
    """Bytes of the file that pip writes now."""
    newest, size = 0.0, 0
    for path, _, files in os.walk(folder):
        for name in files:
            try:
                found = (Path(path) / name).stat()
            except OSError:  # moved away meanwhile
                continue
            if found.st_mtime >= newest:
                newest, size = found.st_mtime, found.st_size
    return size


def _draw(told: Told, folder: Path, ended: threading.Event, screen: TextIO) -> None:
    began = time.monotonic()
    while not ended.wait(_DRAW_S):
        line = drawn(told, newest_size(folder) if told.total else 0, time.monotonic() - began)
        screen.write(f"\r\x1b[K{line}")
        screen.flush()
    screen.write("\r\x1b[K")
    screen.flush()


def install(requirements: str) -> int:
    folder = Path(tempfile.mkdtemp(prefix="barnabas-install-"))
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    told, ended, said = Told(), threading.Event(), []
    drawing = None
    if sys.stderr.isatty():
        drawing = threading.Thread(target=_draw, args=(told, folder, ended, sys.stderr), daemon=True)
        drawing.start()
    try:
        with subprocess.Popen(
            [*command, "--require-hashes", "-r", requirements],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        ) as pip:
            assert pip.stdout is not None
            for line in pip.stdout:
                said.append(line)
                if (plain := told.line(line)) is not None and drawing is None:
                    print(plain, flush=True)
    finally:
        ended.set()
        if drawing is not None:
            drawing.join()
        shutil.rmtree(folder, ignore_errors=True)
    if pip.returncode != 0:
        sys.stderr.write("".join(said[-15:]))
        print(f"install: pip could not install {requirements}; its last lines are above", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(install(sys.argv[1]))
