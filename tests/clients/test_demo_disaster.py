"""`barnabas demo disaster`: the drill ends with books that agree, and leaves no process behind."""

from __future__ import annotations

import re
import subprocess
import sys


def test_the_drill_loses_nothing_that_had_come_over() -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", "demo", "disaster", "--port", "0", "--seconds", "3"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing that had come over was lost, nothing is there twice" in done.stdout
    assert "Traceback" not in done.stderr
    for words in ("link create east", "link promote east --now", "link reverse east", "link verify east"):
        assert f"$ barnabas {words}" in done.stdout
    behind = re.search(r"(\d+) orders? had not come over", done.stdout)
    assert behind is not None
    if int(behind[1]):  # what only the lost cluster had is kept
        assert "link-cut/orders-" in done.stdout


def test_a_word_of_another_story_is_refused() -> None:
    command = [sys.executable, "-m", "barnabas.cli.main", "demo", "disaster", "--no-spark"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "--no-spark is of the story bus" in done.stderr
