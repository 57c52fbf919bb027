"""Queries that begin after another one: when, and that they are not even made before."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.pipelines.activity import PIPELINE
from barnabas.pipelines.framework import RunContext, context
from barnabas.pipelines.framework.context import LIVE_BEGINS_S


class Writer:
    """Takes what Spark's takes, and gives a query that runs."""

    def __init__(self) -> None:
        self.started: list[SimpleNamespace] = []
        self.told: dict[str, object] = {}

    def queryName(self, name: str) -> Writer:
        self.told["name"] = name
        return self

    def option(self, name: str, value: str) -> Writer:
        self.told[name] = value
        return self

    def trigger(self, **how: object) -> Writer:
        self.told |= how
        return self

    def start(self) -> SimpleNamespace:
        self.started.append(SimpleNamespace(isActive=True, lastProgress=None))
        return self.started[-1]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    made = SimpleNamespace(now=100.0)
    monkeypatch.setattr(context, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def run(folder: Path, **more: Any) -> RunContext:
    conf = SimpleNamespace(get=lambda *_: "2", set=lambda *_: None)
    spark: Any = SimpleNamespace(conf=conf)
    return RunContext(PIPELINE, spark, "127.0.0.1:1", folder, **more)


def test_a_query_that_waits_is_made_when_the_first_batch_of_the_other_is_done(
    tmp_path: Path, clock: SimpleNamespace
) -> None:
    it = run(tmp_path)
    first, second, made = Writer(), Writer(), []

    def make() -> Any:
        made.append(1)
        return second

    it.start(first, "first")  # type: ignore[arg-type]  # as Spark's
    it.start_after("first", make, "second", "30 seconds")
    clock.now += 1000
    assert not it.is_ready("second") and not made
    first.started[0].lastProgress = {"batchId": 0}
    assert it.is_ready("second")
    it.start_again("second")
    assert made and second.told["processingTime"] == "30 seconds" and not it.waiting
    assert second.told["name"] == "activity.second"
    it.start_again("second")
    assert len(made) == 1 and len(second.started) == 2, "one that failed is started again as it was made"


def test_a_live_query_has_begun_before_its_first_batch_is_done(tmp_path: Path, clock: SimpleNamespace) -> None:
    it = run(tmp_path, realtime=True)
    live = Writer()
    it.start(live, "live")  # type: ignore[arg-type]  # as Spark's
    it.start_after("live", Writer, "table")  # type: ignore[arg-type]
    it.start_after("table", Writer, "letters")  # type: ignore[arg-type]
    clock.now += LIVE_BEGINS_S - 1
    assert not it.is_ready("table")
    clock.now += 1
    assert it.is_ready("table") and not it.is_ready("letters"), "one after the other"
    live.started[0].isActive = False
    assert not it.is_ready("table"), "a query that failed has to begin again"


def test_with_once_the_other_query_has_to_end(tmp_path: Path, clock: SimpleNamespace) -> None:
    it = run(tmp_path, once=True)
    first, second = Writer(), Writer()
    it.start(first, "first")  # type: ignore[arg-type]  # as Spark's
    it.start_after("first", lambda: second, "second", "30 seconds")  # type: ignore[arg-type, return-value]
    first.started[0].lastProgress = {"batchId": 0}
    assert not it.is_ready("second")
    first.started[0].isActive = False
    assert it.is_ready("second")
    it.start_again("second")
    assert second.told["availableNow"] is True and "processingTime" not in second.told
