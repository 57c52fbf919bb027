"""The examples of docs/testing.md run: the program by itself, the tests under pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.pages import ROOT, blocks, environment

PAGE = ROOT / "docs" / "testing.md"
PUBLISH = """
import pytest
from barnabas import Producer


def publish(bootstrap):
    with Producer(bootstrap) as producer:
        producer.send("orders", b"one").result(20)
"""


def run(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment("", folder),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_program_runs(tmp_path: Path) -> None:
    assert run(tmp_path, "-c", blocks(PAGE, "python")[0]) == "b'one'\n"


def test_the_tests_pass(tmp_path: Path) -> None:
    examples = blocks(PAGE, "python")[1:]
    assert len(examples) == 5
    for number, example in enumerate(examples):
        (tmp_path / f"test_{number}.py").write_text(PUBLISH + example)
    assert "5 passed" in run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", ".")
