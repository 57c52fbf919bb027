"""A process that a node starts executes nothing that happens to lie in the working directory."""

import asyncio
import os
import re
import subprocess
from pathlib import Path

import pytest

from barnabas.broker.upkeep.compaction_process import clean_in_process
from barnabas.model.processes import python_environment, python_module
from barnabas.storage.compaction import cleaner
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from barnabas.wire.records import Record, build_batch

SOURCE = Path(__file__).parents[3] / "src" / "barnabas"


def trap(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory whose modules write down that they were executed."""
    folder.mkdir()
    sprung = folder / "executed"
    for name in ("msgspec", "typer", "json", "asyncio", "barnabas"):
        (folder / f"{name}.py").write_text(f"open({str(sprung)!r}, 'w').close()\nraise SystemExit(9)\n")
    monkeypatch.chdir(folder)
    return sprung


def test_a_compaction_executes_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log.open(tmp_path / "t-0", LogConfig(cleanup_policy=frozenset({"compact"})), clean=True)
    for offset in range(20):
        data = build_batch([Record(offset, 1000, b"key", b"v" * 100, ())], leader_epoch=0)
        log.append(data, base_offset=offset, last_offset=offset, max_timestamp=1000, leader_epoch=0)
    log.roll()
    plan = cleaner.plan(log, 2000)
    assert plan is not None
    sprung = trap(tmp_path / "here", monkeypatch)
    monkeypatch.setenv("PYTHONPATH", os.pathsep + "relative")
    result = asyncio.run(clean_in_process(plan))
    assert (result.records_before, result.records_after) == (20, 1)
    assert not sprung.exists()


def test_a_node_of_up_executes_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sprung = trap(tmp_path / "here", monkeypatch)
    command = [*python_module("barnabas.cli.main"), "version"]
    done = subprocess.run(command, env=python_environment(), capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert not sprung.exists()


def test_every_python_process_is_started_this_way() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.name != "processes.py":
            assert not re.search(r"sys\.executable,\s*\"-", path.read_text()), f"{path} starts a process by hand"
