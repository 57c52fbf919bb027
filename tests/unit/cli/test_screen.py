"""What leaves on a terminal and in a pipe: tables, colours, questions, and the line of progress."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from barnabas.cli.common import progress, screen
from barnabas.cli.common.failure import Failure, report
from barnabas.cli.common.options import confirm
from barnabas.cli.common.progress import Progress
from barnabas.cli.common.screen import Column, coloured, facts, paint, quoted, table


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """To be called by the test itself: what is captured is another stream while it is set up."""
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")


COLUMNS = (Column("name", flexible=True), Column("number", right=True), Column("state", flexible=True))
ROW = ("a-very-long-name-of-a-topic", "1,200", "a long sentence that says why")


def test_a_terminal_is_not_overrun(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    on_terminal(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    table(COLUMNS, [ROW])
    _, line = capsys.readouterr().out.splitlines()
    assert len(line) <= 40 and line.count("…") == 2 and "1,200" in line
    monkeypatch.setenv("COLUMNS", "5")
    table(COLUMNS, [ROW])
    assert "a-very-…" in capsys.readouterr().out, "never shorter than eight characters"


def test_a_pipe_gets_everything(capsys: pytest.CaptureFixture[str]) -> None:
    table(COLUMNS, [ROW])
    assert capsys.readouterr().out.splitlines()[1].split("  ") == [ROW[0], " 1,200", ROW[2]]


def test_who_wants_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    assert coloured() and paint("x", "red") == "\x1b[31mx\x1b[0m"
    for name, value, wanted in (("TERM", "dumb", False), ("NO_COLOR", "", False), ("FORCE_COLOR", "1", True)):
        monkeypatch.setenv(name, value)
        assert coloured() is wanted and coloured(io.StringIO()) is (name == "FORCE_COLOR")


def test_text_of_others_does_not_drive_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert quoted("tab\there\x1b[2J\n") == "tab\there\\x1b[2J\\x0a"
    facts([("topic", "a\x07b"), ("empty", "")])
    assert capsys.readouterr().out == "topic  a\\x07b\n"


@pytest.mark.parametrize(
    ("answer", "goes_on"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_a_question(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, goes_on: bool
) -> None:
    stdin = io.StringIO(answer)
    stdin.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", stdin)
    if goes_on:
        confirm("Delete it?", yes=False)
    else:
        with pytest.raises(Failure, match="nothing was changed"):
            confirm("Delete it?", yes=False)
    assert capsys.readouterr().err == "Delete it? [y/N] "


def test_a_stderr_that_is_closed_is_no_second_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(_: str) -> int:
        raise OSError("closed")

    monkeypatch.setattr("sys.stderr", SimpleNamespace(isatty=lambda: False, write=write, flush=lambda: None))
    report("anything")


@pytest.mark.parametrize("total", [None, 4096])
def test_progress_is_drawn_ten_times_a_second_at_most(monkeypatch: pytest.MonkeyPatch, total: int | None) -> None:
    now = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now[0]))
    shown = Progress(total)
    told: list[str] = []
    monkeypatch.setattr(shown._bar, "update", lambda task, **fields: told.append(fields["told"]))
    shown.update(10, 1024)
    assert told == [], "not yet"
    now[0] += 1
    shown.update(20, 1024)
    shown.update(30, 1024)
    shown.close()
    assert told == ["20 records  20/s  2 KiB/s"]


def test_json_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    screen.outcome(True, {"a": 1}, "text")
    screen.outcome(False, {"a": 1}, "text")
    assert capsys.readouterr().out == '{\n  "a": 1\n}\ntext\n'
    screen.say()
    assert capsys.readouterr().out == "\n" and sys.stdout is not None
