"""The activity pipeline in Spark's Real-Time Mode: the same pairs as plain Python, and old events by a batch.

The same kind of stream as in test_activity.py: late, doubled, out of order, with a restart of the query in the middle.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines.activity import PIPELINE, RECOMMENDATIONS, answer, table
from barnabas.pipelines.activity.generator import Activity
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.common.disorder import Disorder, millis
from barnabas.pipelines.framework import Record, RunContext, backlog
from barnabas.pipelines.framework.realtime import LIVE
from barnabas.testing import RunningNode
from tests.spark.stage import Stage

HOUR = 3_600_000
BEGIN = 1_790_000_400_000
RULES = Rules(window_ms=HOUR, after_ms=600_000, late_ms=60_000)
# A restart goes on from the end of a batch, and work beside a query may begin then.
OPTIONS = {"window": "1h", "after": "10m", "late": "1m", "batch": "5s"}
DISORDER = Disorder(network_ms=300, late=0.06, late_ms=58_000, too_late=0.02, too_late_ms=240_000, twice=0.05)
SHOWN = ("member", "because", "interest", "job", "title", "company", "city", "score")
WITHIN_S = 240


@contextmanager
def running(stage: Stage, **options: str) -> Iterator[RunContext]:
    context = stage.context(realtime=True, options={**OPTIONS, **options})
    PIPELINE.now(context)
    try:
        yield context
    finally:
        for query in context.queries.values():
            query.stop()


def told(stage: Stage, want: Set[tuple[str, str]], check: Callable[[], object] = lambda: None) -> list[dict[str, Any]]:
    """What is in the topic when it has all of `want`, or the time is over."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        check()
        found = stage.values(RECOMMENDATIONS)
        if want <= {(each["interest"], each["job"]) for each in found} or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def same(found: list[dict[str, Any]], want: dict[tuple[str, str], dict[str, Any]]) -> None:
    pairs = {(each["interest"], each["job"]): each for each in found}
    assert not want.keys() - pairs.keys(), f"{len(want.keys() - pairs.keys())} of {len(want)} are missing"
    assert {pair: {name: each[name] for name in SHOWN} for pair, each in pairs.items()} == want
    assert all(each["id"] == f"{each['interest']}:{each['job']}" for each in found)


@pytest.fixture
def stage(quick_spark: Any, node: RunningNode, has_connector: bool, tmp_path: Path) -> Stage:
    if not has_connector:
        pytest.skip("Spark's Kafka connector is not here")
    return Stage(PIPELINE, quick_spark, node.bootstrap, tmp_path, partitions=2)


def table_rows(stage: Stage) -> Counter[tuple[str, str]]:
    folder = stage.folder / "tables" / table.NAME
    if not any(folder.glob("hour=*/*.parquet")):
        return Counter()
    rows = stage.spark.read.parquet(str(folder)).select("interest", "job").collect()
    return Counter((row["interest"], row["job"]) for row in rows)


@pytest.mark.timeout(600)
def test_the_live_query_and_plain_python_agree_over_a_restart(stage: Stage) -> None:
    activity = Activity(7, Town(7, members=300, companies=40), job_share=0.02, disorder=DISORDER)
    records = [*activity.opening_jobs(BEGIN - HOUR // 2, BEGIN, 20)]
    records += activity.history(BEGIN, BEGIN + 2 * HOUR - 300_000, 500)
    half = len(records) // 2
    for portion in (records[:half], records):
        stage.write(portion[half:] if portion is records else portion)
        want = answer.recommendations(portion, RULES)
        with running(stage, backlog="live") as context:
            found = told(stage, want.keys())
            context.start_again("table")
            deadline = time.monotonic() + WITHIN_S
            while table_rows(stage).keys() != want.keys() and time.monotonic() < deadline:
                time.sleep(0.2)
        same(found, want)
    assert any(millis(each["posted"]) > millis(each["time"]) for each in found), "no job came after its search"
    assert set(table_rows(stage)) == want.keys() and max(table_rows(stage).values()) == 1
    assert len(want) > 100


@pytest.mark.timeout(600)
def test_old_events_are_worked_through_by_a_batch_and_none_is_missed_at_the_border(stage: Stage) -> None:
    """History up to now, then new events: the batch has what was searched before, the live query the rest."""
    now_ms = int(time.time() * 1000)
    activity = Activity(9, Town(9, members=300, companies=40), job_share=0.03, disorder=DISORDER)
    made: Iterator[Record] = activity.live(now_ms - 2_400_000, 0.3)  # a steady rate, whatever the hour of the day is
    records = [*activity.opening_jobs(now_ms - 3_000_000, now_ms - 2_400_000, 30)]
    records += takewhile(lambda record: record.time_ms < now_ms + 60_000, made)
    old = [record for record in records if record.time_ms < now_ms]
    stage.write(old)
    with running(stage) as context:
        work = context.beside[backlog.NAME]
        want = answer.recommendations(old, RULES)

        def step() -> None:
            work.step(context.queries[LIVE].lastProgress is not None)
            assert not work.failed and context.queries[LIVE].isActive, work.trouble

        found = told(stage, want.keys(), step)
        same(found, want)
        stage.write(record for record in records if record.time_ms >= now_ms)
        want = answer.recommendations(records, RULES)
        same(told(stage, want.keys()), want)
    assert work.done
    border_ms = backlog.decided(context, 0).since_ms
    sent = {record.value["id"]: record.time_ms for record in records}
    sides = Counter(sent[interest] < border_ms for interest, _ in want)
    assert sides[True] > 30 and sides[False] > 10, "the events were all on one side"
