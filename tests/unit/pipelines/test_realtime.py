"""Real-Time Mode: when it is taken, how many threads it gets, and what is left to the batch beside it."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines.activity import PIPELINE
from barnabas.pipelines.activity.live import slice_ms
from barnabas.pipelines.activity.now import earlier_ms
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import RunContext, backlog, beside, failures, realtime
from barnabas.pipelines.framework.beside import Beside
from barnabas.pipelines.framework.running import Wanted

EARLIER_MS = earlier_ms(Rules())


def context(folder: Path, **more: Any) -> RunContext:
    return RunContext(PIPELINE, None, "127.0.0.1:1", folder, **more)  # type: ignore[arg-type]  # no Spark is asked


def committed(folder: Path, seconds_ago: float) -> None:
    commits = folder / "checkpoints" / realtime.LIVE / "commits"
    commits.mkdir(parents=True, exist_ok=True)
    (commits / "7").touch()
    os.utime(commits / "7", (time.time() - seconds_ago,) * 2)


def no_rows() -> Any:
    raise AssertionError("nothing is told before a first batch is done")


def test_history_is_for_the_batch_and_the_border_stays_where_it_was(tmp_path: Path) -> None:
    before_ms = int(time.time() * 1000) - backlog.SENDING_MS
    first = backlog.decided(context(tmp_path), EARLIER_MS)
    assert first.from_ms == 0 and 0 <= first.since_ms - before_ms < 5_000 and not first.told
    committed(tmp_path, seconds_ago=60)
    assert backlog.decided(context(tmp_path), EARLIER_MS) == first
    run = context(tmp_path)
    backlog.work_through_beside(run, first, no_rows, "results")
    assert list(run.beside) == [backlog.NAME]


def test_the_border_lies_between_windows(tmp_path: Path) -> None:
    run = context(tmp_path, begin_ms=1_700_000_000_123)
    history = backlog.decided(run, EARLIER_MS, step_ms=10_000)
    assert history.from_ms == 1_700_000_000_000 and history.since_ms % 10_000 == 0


@pytest.mark.parametrize(("given", "why"), [("4s", "5s at the least"), ("soon", "not a length of time")])
def test_a_batch_that_spark_does_not_take_is_refused_before_spark_starts(tmp_path: Path, given: str, why: str) -> None:
    wanted = Wanted(PIPELINE, "127.0.0.1:1", tmp_path, options={"batch": given})
    with pytest.raises(PipelineError, match=why):
        realtime.tasks_wanted(wanted, tmp_path, set(), lambda _: None)


def test_everything_may_go_through_the_live_query(tmp_path: Path) -> None:
    run = context(tmp_path, options={"backlog": "live"})
    history = backlog.decided(run, EARLIER_MS)
    assert history.since_ms == 0 and history.told
    backlog.work_through_beside(run, history, no_rows, "results")
    assert not run.beside


@pytest.mark.parametrize("told", [True, False])
def test_after_a_long_pause_it_begins_anew_and_repeats_its_last_minutes(tmp_path: Path, told: bool) -> None:
    before = backlog.History(from_ms=5, since_ms=10, write="w", told=told)
    backlog._write(context(tmp_path).checkpoints, before)
    committed(tmp_path, seconds_ago=7200)
    ended_ms = int((time.time() - 7200) * 1000)
    found = backlog.decided(context(tmp_path), EARLIER_MS)
    assert found.write != "w" and not found.told and not (tmp_path / "checkpoints" / realtime.LIVE).exists()
    if told:
        assert abs(found.from_ms - (ended_ms - EARLIER_MS - 60_000)) < 5_000
    else:
        assert found.from_ms == 5, "the batch that was not done is done with the new one"


def test_slices_of_interests_follow_the_rules() -> None:
    assert slice_ms(Rules(after_ms=6_000_000)) == 50_000
    assert slice_ms(Rules(after_ms=0)) == 5_000


@pytest.mark.parametrize(
    ("master", "tasks", "wanted"),
    [("local[2]", 10, "local[52,4]"), ("local", 3, "local[38,4]"), ("local[2]", 0, "local[2]"),
     ("spark://host:7077", 10, "spark://host:7077")],
)  # fmt: skip
def test_a_task_is_a_thread_on_one_machine(master: str, tasks: int, wanted: str) -> None:
    assert realtime.master_with(master, tasks) == wanted


def test_a_folder_keeps_the_way_of_its_first_start(tmp_path: Path) -> None:
    said: list[str] = []
    wanted = Wanted(PIPELINE, "127.0.0.1:1", tmp_path)
    assert realtime.tasks_wanted(wanted, tmp_path, {"recommend"}, said.append) == 0
    assert said == [
        "no Real-Time Mode, micro-batches instead: it goes on from a run with --exactly-once (--fresh starts over)"
    ]
    for asked, flag in ((replace(wanted, exactly_once=True), "--exactly-once"), (replace(wanted, once=True), "--once")):
        with pytest.raises(PipelineError, match=f"from Real-Time Mode, which has no {flag}"):
            realtime.tasks_wanted(asked, tmp_path, {realtime.LIVE}, said.append)


def test_what_only_librdkafka_knows_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    wanted = Wanted(PIPELINE, "127.0.0.1:1", tmp_path, source={"kafka.sasl.username": "ada"})
    assert realtime.tasks_wanted(wanted, tmp_path, set(), said.append) == 0
    assert len(said) == 1 and "sasl.username" in said[0] and "ada" not in said[0]


def test_missing_jars_are_one_line_and_micro_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from barnabas.pipelines import connector

    def cannot() -> list[Path]:
        raise PipelineError("Spark's Kafka connector could not be fetched (no network)")

    monkeypatch.setattr(connector, "connector_jars", cannot)
    said: list[str] = []
    assert realtime.tasks_wanted(Wanted(PIPELINE, "127.0.0.1:1", tmp_path), tmp_path, set(), said.append) == 0
    assert said == [
        "no Real-Time Mode, micro-batches instead: Spark's Kafka connector could not be fetched (no network)"
    ]


def test_work_beside_waits_for_a_first_batch_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "PAUSE_S", 0.0)
    results: list[Exception | None] = [PipelineError("not yet"), None]

    def work() -> None:
        result = results.pop(0)
        if result is not None:
            raise result

    made = Beside(work)
    made.step(may_begin=False)
    assert len(results) == 2
    made.step(may_begin=True)
    made.wait(10)
    assert made.trouble == "PipelineError: not yet" and not made.done and not made.failed
    made.step(may_begin=True)
    made.wait(10)
    assert made.done and made.trouble == ""


def test_work_beside_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "PAUSE_S", 0.0)
    tries: list[int] = []

    def work() -> None:
        tries.append(1)
        raise PipelineError("never")

    made = Beside(work)
    for _ in range(beside.TRIES + 3):
        made.step(may_begin=True)
        made.wait(10)
    assert len(tries) == beside.TRIES and made.failed


def test_an_error_of_java_is_told_by_its_own_words() -> None:
    text = "An error occurred while calling o12.save.\n: org.apache.spark.SparkException: Job aborted\n\tat x"
    assert failures.explain(RuntimeError(text)) == "RuntimeError: org.apache.spark.SparkException: Job aborted"
