"""What the progress of queries adds up to, and whose lag is a run's lag."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from barnabas.client.admin.descriptions import GroupPartition
from barnabas.pipelines.framework.progress.counting import KEPT, Counts, late_rows, watermark_trouble
from barnabas.pipelines.framework.progress.watching import lag_of, rows_per_s
from barnabas.pipelines.progress import offsets_behind

NOW_S = 1_794_000_000.0


def progress(batch: int, **more: Any) -> dict[str, Any]:
    return {"batchId": batch, "numInputRows": 10, "stateOperators": [], **more}


def test_each_batch_counts_once_however_often_it_is_looked_at() -> None:
    counts = Counts()
    for first in range(KEPT + 100):
        counts.add([progress(first), progress(first + 1)])
    counts.add([progress(0)])  # long forgotten, and still not counted again
    assert counts.rows == 10 * (KEPT + 101)


def test_late_rows_are_those_of_spark_and_those_of_the_rule() -> None:
    told = progress(
        0,
        stateOperators=[{"numRowsDroppedByWatermark": 2}, {"numRowsDroppedByWatermark": 1}],
        observedMetrics={"late.trades": {"late": 4}, "late.quotes": {"late": None}, "bad.trades": {"bad": 9}},
    )
    assert late_rows(told) == 7
    counts = Counts()
    counts.add([told])
    assert counts.bad == {"trades": 9}


def test_a_watermark_of_the_far_future_is_told() -> None:
    assert watermark_trouble(progress(0, eventTime={"watermark": "2026-11-07T00:00:00.000Z"}), NOW_S) == ""
    assert watermark_trouble(progress(0), NOW_S) == ""
    for far in ("2999-01-01T00:00:00.000Z", "+58846-01-03T16:27:53.000Z"):
        assert "every row is late" in watermark_trouble(progress(0, eventTime={"watermark": far}), NOW_S)


def group(*partitions: tuple[str, int, int, float]) -> list[GroupPartition]:
    return [GroupPartition(topic, index, 0, lag, lag, seconds) for topic, index, lag, seconds in partitions]


def test_lag_is_that_of_the_topics_this_run_reads_by_the_slowest_query() -> None:
    found = {
        "market.bars": group(("trades", 0, 5, 1.0), ("old-trades", 0, 900, 500.0)),
        "market.quoted": group(("trades", 0, 7, 2.0), ("quotes", 0, 1, 0.5)),
    }
    topics = {"market.bars": {"trades"}, "market.quoted": {"trades", "quotes"}}
    assert lag_of(found, topics) == (8, 2.0)
    assert lag_of({}, {}) == (None, None)


def test_lag_is_not_known_before_every_query_has_told_where_it_stands() -> None:
    read = {"market.bars": group(("trades", 0, 0, 0.0))}
    topics = {"market.bars": {"trades"}, "market.quoted": {"trades", "quotes"}}
    for quoted in (group(), group(("trades", 0, 0, 0.0))):
        assert lag_of({**read, "market.quoted": quoted}, topics) == (None, None)


def test_offsets_behind_are_those_of_the_connector() -> None:
    source = {
        "endOffset": {"orders": {"0": 10, "1": 20}},
        "latestOffset": '{"orders": {"0": 16, "1": 20, "2": 3}}',  # Spark gives either shape
    }
    assert offsets_behind({"sources": [source, {"endOffset": 7, "latestOffset": 9}, {}]}) == [
        {"avgOffsetsBehindLatest": 3.0, "maxOffsetsBehindLatest": 6, "minOffsetsBehindLatest": 0},
        {},
        {},
    ]
    assert offsets_behind(None) == []


def test_rows_a_second_while_a_long_batch_runs() -> None:
    def batch(ended_s_ago: float, took_s: float, rows: int) -> dict[str, Any]:
        begun = datetime.fromtimestamp(NOW_S - ended_s_ago - took_s, UTC).isoformat()
        return {"timestamp": begun, "durationMs": {"triggerExecution": took_s * 1000}, "numInputRows": rows}

    assert rows_per_s([], NOW_S) == 0
    assert rows_per_s([batch(4, 1, 500), batch(1, 1, 500)], NOW_S) == pytest.approx(200, rel=0.01)
    assert rows_per_s([batch(12, 20, 3200)], NOW_S) == pytest.approx(100, rel=0.01)  # the next one is under way
    assert rows_per_s([batch(41, 20, 3200)], NOW_S) == 0  # nothing has come since
