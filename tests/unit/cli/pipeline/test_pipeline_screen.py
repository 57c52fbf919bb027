"""What a running pipeline shows: on a terminal a still screen, in a pipe a line at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.pipeline import screen
from barnabas.cli.pipeline.screen import Lines, Screen, Silent, lag_told, letter_told, open_view, picture, result_told
from barnabas.pipelines.framework.progress.watching import Shown, Snapshot, Watch
from barnabas.pipelines.framework.running import Run
from tests.support.without_spark import Query, Shop, run_of

PLACE = {"topic": "orders", "partition": "2", "offset": "17", "error": "price: free is not double (at 3)"}
TEA = Shown("revenue", 1_777_630_000_000, b'{"item": "tea", "revenue": 4.5}', {}, "tea")
BAD = Shown("orders.dead-letter", 1_777_630_000_000, b'{"price": "free\x1b[2J"}', PLACE, "")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_of(Shop(), "127.0.0.1:1", tmp_path, revenue=Query(12, batches=2), **{"dead-letters": Query()})


@pytest.fixture
def watch(run: Run) -> Watch:
    """As it is after a result and a bad record were read back; nobody asks a cluster."""
    found = Watch(run)
    found.results, found.bad = 1, 1
    found.recent.append(TEA)
    found.dead.append(BAD)
    return found


def drawn(run: Run, watch: Watch) -> str:
    from rich.console import Console

    console = Console(width=120, record=True, force_terminal=False, file=open("/dev/null", "w"))  # noqa: SIM115
    with console.file:
        console.print(picture(run, watch))
    return console.export_text()


def test_a_line_has_rate_lag_batch_and_the_last_result(
    run: Run, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_view(run, watch, quiet=False) as view:
        assert isinstance(view, Lines)
        view.draw()
        view.draw()  # at once: the next line comes in two seconds
    letter, line = capsys.readouterr().out.splitlines()
    assert "bad record at orders-2 offset 17: " in letter and "(price: free is not double)" in letter
    assert "lag -  batch 250 ms  results 1  bad 1  late 0  item=tea revenue=4.5" in line


def test_a_trouble_is_told_once_until_it_changes(run: Run, watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    view = Lines(run, watch)
    run.troubles["revenue"] = "a Python worker died"
    run.notice = "no worker has taken the work yet"
    for _ in range(2):
        view.draw()
    told = capsys.readouterr().out
    assert told.count("revenue: a Python worker died; starting it again\n") == 1
    assert told.count("no worker has taken the work yet\n") == 1
    run.troubles["revenue"] = "the node is away"
    view.draw()
    assert "revenue: the node is away; starting it again" in capsys.readouterr().out


def test_a_bad_record_that_comes_at_the_end_is_shown(
    run: Run, watch: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_view(run, watch, quiet=False) as view:
        view.draw()
        capsys.readouterr()
        watch.bad += 1
        watch.dead.append(BAD)
    assert capsys.readouterr().out.count("bad record at") == 1


def test_the_screen_has_queries_results_and_what_does_not_fit(run: Run, watch: Watch) -> None:
    run.notice = "by micro-batches"
    told = drawn(run, watch)
    assert "shop  now  on 127.0.0.1:1, up 0 s" in told
    for words in ("rows 2", "results 1", "bad 1", "dead-letters", "revenue", "250 ms", "by micro-batches"):
        assert words in told, words
    assert "item=tea revenue=4.5" in told and "bad record at orders-2 offset 17" in told
    assert "Ctrl-C stops it; it goes on from there the next time." in told and "\x1b" not in told


def test_before_the_first_batch_somebody_is_asked_to_wait(tmp_path: Path) -> None:
    run = run_of(Shop(), "127.0.0.1:1", tmp_path, revenue=Query(batches=0))
    told = drawn(run, Watch(run))
    assert "the first batch is under way; Spark takes a few seconds for it" in told
    assert "last results" not in told


def test_late_rows_and_state_are_shown_by_query(tmp_path: Path) -> None:
    state = [{"memoryUsedBytes": 3 << 20, "numRowsDroppedByWatermark": 2}]
    run = run_of(Shop(), "127.0.0.1:1", tmp_path, revenue=Query(8, stateOperators=state))
    told = " ".join(drawn(run, Watch(run)).split())
    assert "late 2" in told and "3 MiB" in told


def test_a_terminal_gets_the_still_screen(run: Run, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    pictures: list[Any] = []
    with open_view(run, watch, quiet=False) as view:
        assert isinstance(view, Screen)
        monkeypatch.setattr(view._live, "update", lambda shown, refresh: pictures.append(shown))
        view.draw()
        view.draw()
    assert len(pictures) == 1, "twice a second at most"


def test_quiet_shows_nothing(run: Run, watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    with open_view(run, watch, quiet=True) as view:
        assert type(view) is Silent
        view.draw()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("records", "seconds", "told"),
    [(None, None, "-"), (0, None, "0 records"), (1, 0.0, "1 record"), (2400, 61.0, "2,400 records, 1 min 1 s")],
)
def test_lag(records: int | None, seconds: float | None, told: str) -> None:
    assert lag_told(Snapshot(lag_records=records, lag_seconds=seconds)) == told


def test_a_result_that_is_no_json_is_shown_as_it_is(run: Run) -> None:
    shown = Shown("revenue", 0, b"\xff not json \x07" + b"x" * 500, {}, "")
    told = result_told(run, shown)
    assert "not json" in told and "\x07" not in told and len(told) < screen.VALUE_SHOWN + 20


def test_a_long_bad_record_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    told = letter_told(Shown("orders.dead-letter", 0, b"x" * 500, {}, ""))
    assert "bad record at orders.dead-letter-? offset ?: " in told and "…  (it does not fit)" in told


def test_a_long_line_of_the_screen_is_cut_to_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    line: Any = screen._row(1_777_630_000_000, "x" * 200, "green")
    assert line.plain.endswith("x…") and len(line.plain) < 70
