"""`barnabas demo bus` as a process, with servers that are hidden from it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.paths import ROOT

HIDDEN = ROOT / "tests" / "support" / "hidden_servers.py"
WORDS = ["demo", "bus", "--no-spark", "--port", "0"]
RUN_S = 240
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def demo_folder() -> Iterator[Path]:
    """Where the demo has everything. Not pytest's: PostgreSQL runs as another user, who cannot enter that."""
    made = Path(tempfile.mkdtemp(prefix="barnabas-test-bus-"))
    made.chmod(0o711)
    try:
        yield made
    finally:
        for pid in running(made):
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(made)


def without_servers(folder: Path, empty: Path) -> dict[str, str]:
    """An environment in which no program is on the path, and nothing is in the cache."""
    found = {**usual(folder), "PATH": str(empty), "XDG_CACHE_HOME": str(empty), "OPENSEARCH_URL": NOWHERE}
    found.pop("JAVA_HOME", None)
    return found


def usual(folder: Path) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}


def running(folder: Path) -> list[int]:
    """Processes that have something in this folder: a part of their command line, or of their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            except OSError:  # it has ended meanwhile
                continue
            if os.fsencode(folder) in told:
                found.append(int(process.name))
    return found


def start(names: str, env: Mapping[str, str], *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-u", str(HIDDEN), names, *WORDS, *words]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until_live(demo: subprocess.Popen[str]) -> str:
    """What it says until then."""
    assert demo.stdout is not None
    told = ""
    for line in demo.stdout:
        told += line
        if line.startswith("live: "):
            return told
    raise AssertionError(f"it never began:\n{told}")
