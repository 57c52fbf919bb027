"""The pipelines metrics and anomalies in Spark's Real-Time Mode: the same results as plain Python, over a restart, and
with a batch beside them for what was sent before they began."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines import anomalies, metrics
from barnabas.pipelines.anomalies.answer import alerts
from barnabas.pipelines.anomalies.baseline import Rule
from barnabas.pipelines.anomalies.schema import ALERTS
from barnabas.pipelines.common.disorder import Disorder
from barnabas.pipelines.framework import Pipeline, Record, RunContext, backlog
from barnabas.pipelines.framework.realtime import LIVE
from barnabas.pipelines.metrics import later
from barnabas.pipelines.metrics.answer import windows
from barnabas.pipelines.metrics.now import RESULTS
from barnabas.testing import RunningNode
from tests.spark.stage import Stage
from tests.spark.test_anomalies import alert_of

BEGIN = 1_790_000_000_000
DISORDER = Disorder(late=0.05, late_ms=4_000, too_late=0.01, too_late_ms=15_000, twice=0.02)
WITHIN_S = 240
RULE = Rule(threshold=4.0)

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def staged(quick_spark: Any, node: RunningNode, has_connector: bool, tmp_path: Path) -> Callable[[Pipeline], Stage]:
    if not has_connector:
        pytest.skip("Spark's Kafka connector is not here")
    return lambda pipeline: Stage(pipeline, quick_spark, node.bootstrap, tmp_path, partitions=2)


@contextmanager
def running(stage: Stage, **options: str) -> Iterator[RunContext]:
    # A restart goes on from the end of a batch, and work beside a query may begin then.
    context = stage.context(realtime=True, options={"batch": "5s", **options})
    stage.pipeline.now(context)
    try:
        yield context
    finally:
        for query in context.queries.values():
            query.stop()


def until(found: Callable[[], Any], want: Any, step: Callable[[], object] = lambda: None) -> None:
    deadline = time.monotonic() + WITHIN_S
    while found() != want and time.monotonic() < deadline:
        step()
        time.sleep(0.2)
    assert found() == want


def told_windows(stage: Stage) -> list[Any]:
    told = {
        (window.service, window.begin_ms): window for window in map(later.window_of, stage.newest(RESULTS).values())
    }
    return [told[key] for key in sorted(told)]


def told_alerts(stage: Stage) -> list[Any]:
    """Each once, however often it was told."""
    return sorted(set(map(alert_of, stage.values(ALERTS))))


def works_through(context: RunContext) -> Callable[[], None]:
    work = context.beside[backlog.NAME]

    def step() -> None:
        work.step(context.queries[LIVE].lastProgress is not None)
        assert not work.failed and context.queries[LIVE].isActive, work.trouble

    return step


def until_now(made: Iterator[Record], now_ms: int) -> tuple[list[Record], list[Record]]:
    """What was sent before now, and what is sent in the next minute."""
    records = list(takewhile(lambda record: record.time_ms < now_ms + 60_000, made))
    return [each for each in records if each.time_ms < now_ms], [each for each in records if each.time_ms >= now_ms]


def test_windows_are_the_same_over_a_restart(staged: Callable[[Pipeline], Stage]) -> None:
    stage = staged(metrics.PIPELINE)
    records = list(islice(metrics.generator.generate(7, BEGIN, 100, DISORDER), 3000))
    for portion in (records[:1500], records):
        stage.write(portion[1500:] if portion is records else portion)
        with running(stage, backlog="live"):
            until(lambda: told_windows(stage), windows(portion))


def test_windows_before_the_start_are_told_by_a_batch(staged: Callable[[Pipeline], Stage]) -> None:
    stage = staged(metrics.PIPELINE)
    now_ms = int(time.time() * 1000)
    old, new = until_now(metrics.generator.generate(7, now_ms - 600_000, 5, DISORDER), now_ms)
    stage.write(old)
    with running(stage) as context:
        until(lambda: told_windows(stage), windows(old), works_through(context))
        stage.write(new)
        until(lambda: told_windows(stage), windows([*old, *new]))


def test_alerts_are_the_same_over_a_restart(staged: Callable[[Pipeline], Stage]) -> None:
    stage = staged(anomalies.PIPELINE)
    records = list(islice(anomalies.generator.generate(5, BEGIN, 24), 4800))
    half = 3400
    assert len(alerts(records, RULE)) > len(alerts(records[:half], RULE)) > 5
    for portion in (records[:half], records):
        stage.write(portion[half:] if portion is records else portion)
        with running(stage, backlog="live", threshold="4"):
            until(lambda: told_alerts(stage), alerts(portion, RULE))


def test_alerts_before_the_start_are_told_by_a_batch(staged: Callable[[Pipeline], Stage]) -> None:
    stage = staged(anomalies.PIPELINE)
    now_ms = int(time.time() * 1000)
    old, new = until_now(anomalies.generator.generate(5, now_ms - 1_200_000, 12), now_ms)
    stage.write(old)
    with running(stage, threshold="4") as context:
        until(lambda: told_alerts(stage), alerts(old, RULE), works_through(context))
        stage.write(new)
        until(lambda: told_alerts(stage), alerts([*old, *new], RULE))
