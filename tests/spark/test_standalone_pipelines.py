"""The six pipelines on a real Spark standalone cluster of two workers, by `--master` alone: both halves of each give
what plain Python makes of the same log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines import activity, anomalies, lake, market, metrics, restore
from barnabas.pipelines.activity import answer as activity_answer
from barnabas.pipelines.activity import table as activity_table
from barnabas.pipelines.activity.generator import Activity
from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.activity.town import Town
from barnabas.pipelines.anomalies import answer as anomalies_answer
from barnabas.pipelines.anomalies import later as anomalies_later
from barnabas.pipelines.anomalies.baseline import ALLOWED_MS, Rule
from barnabas.pipelines.anomalies.schema import ALERTS
from barnabas.pipelines.common.disorder import Disorder, millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework import Record
from barnabas.pipelines.lake import answer as lake_answer
from barnabas.pipelines.lake.table import Table
from barnabas.pipelines.market import answer as market_answer
from barnabas.pipelines.market import schema as market_schema
from barnabas.pipelines.metrics import answer as metrics_answer
from barnabas.pipelines.metrics import later as metrics_later
from barnabas.pipelines.metrics.levels import Promise, levels
from barnabas.pipelines.metrics.now import RESULTS
from barnabas.pipelines.restore.answer import rebuilt
from barnabas.pipelines.restore.files import read_state
from barnabas.pipelines.restore.store import Change
from barnabas.testing import running_node
from tests.spark.on_cluster import SHAPE, TWO_PHASES, OnCluster
from tests.spark.standalone import standalone_cluster
from tests.spark.test_anomalies import alert_of
from tests.spark.test_market import bar_of, quoted_of

pytestmark = pytest.mark.timeout(1800)

BEGIN = 1_790_000_040_000  # a whole minute
HOUR = 3_600_000
DISORDER = Disorder(network_ms=30, late=0.05, late_ms=9_000, too_late=0.01, too_late_ms=150_000, twice=0.02)


@pytest.fixture(scope="module")
def on_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnCluster]:
    folder = tmp_path_factory.mktemp("standalone")
    (folder / "cluster").mkdir()
    with running_node(TWO_PHASES) as node, standalone_cluster(folder / "cluster", **SHAPE) as cluster:
        made = OnCluster(node.bootstrap, cluster, folder)
        try:
            yield made
        finally:
            made.close()


@pytest.fixture(scope="module")
def requests(on_cluster: OnCluster) -> list[Record]:
    return on_cluster.write(metrics.PIPELINE, islice(metrics.generator.generate(7, BEGIN, 100, DISORDER), 4000))


def test_metrics_now(on_cluster: OnCluster, requests: list[Record]) -> None:
    """The short slice."""
    on_cluster.run("metrics", "--once")
    told = map(metrics_later.window_of, on_cluster.newest(RESULTS).values())
    assert sorted(told, key=lambda each: (each.service, each.begin_ms)) == metrics_answer.windows(requests)


@pytest.mark.long
def test_metrics_later(on_cluster: OnCluster, requests: list[Record]) -> None:
    on_cluster.run("metrics", "--later")
    promise = Promise()
    late = sum(not counts(millis(each.value["time"]), each.time_ms, metrics_answer.ALLOWED_MS) for each in requests)
    want = metrics_later.report(levels(requests, promise), metrics_answer.windows(requests), promise, late)
    assert late and (on_cluster.home / "metrics" / "service-levels.html").read_text() == want


@pytest.mark.long
def test_anomalies(on_cluster: OnCluster) -> None:
    readings = on_cluster.write(anomalies.PIPELINE, islice(anomalies.generator.generate(5, BEGIN, 40), 6000))
    on_cluster.run("anomalies", "--once", "--set", "threshold=4")
    want = anomalies_answer.alerts(readings, Rule(threshold=4.0))
    assert len(want) > 20 and sorted(map(alert_of, on_cluster.values(ALERTS))) == want

    on_cluster.run("anomalies", "--later", "--set", "threshold=4", "--set", "thresholds=3,4,8")
    tried = anomalies_answer.back_test(readings, [3.0, 4.0, 8.0], Rule())
    late = sum(
        not counts(millis(each.value["time"]), each.time_ms, ALLOWED_MS)
        for each in readings
        if each.topic == anomalies.generator.READINGS
    )
    page = (on_cluster.home / "anomalies" / "back-test.html").read_text()
    assert page == anomalies_later.report(tried, 4.0, late)


@pytest.mark.long
def test_market(on_cluster: OnCluster) -> None:
    disorder = Disorder(network_ms=30, late=0.05, late_ms=28_000, too_late=0.005, too_late_ms=50_000, twice=0.02)
    reports = on_cluster.write(market.PIPELINE, islice(market.generator.generate(5, BEGIN, 18, disorder), 3000))
    on_cluster.run("market", "--once")
    bars, quoted = market_answer.bars(reports), market_answer.quoted(reports)
    assert sorted(map(bar_of, on_cluster.newest(market.BARS).values())) == bars
    told = map(quoted_of, on_cluster.newest(market.QUOTED).values())
    assert sorted(told, key=lambda each: each.trade) == quoted

    said = on_cluster.run("market", "--later")
    settled = max(each.time_ms for each in reports if each.topic == market.generator.TRADES) - market_schema.ALLOWED_MS
    equal = sum(bar.begin_ms + market_schema.BAR_MS <= settled for bar in bars)
    assert equal > 5 and f"bars: all agree: {equal} equal, 0 different" in said
    equal = sum(each.trade.time_ms <= settled for each in quoted)
    assert f"quoted trades: all agree: {equal:,} equal, 0 different" in said


@pytest.mark.long
def test_lake(on_cluster: OnCluster) -> None:
    on_cluster.write(lake.PIPELINE, islice(lake.generator.generate(3, BEGIN, 100), 1200))
    on_cluster.run("lake", "--once")
    table = Table(on_cluster.home / "lake" / "tables" / lake.generator.TOPIC)
    want = lake_answer.rows(on_cluster.messages(lake.generator.TOPIC), lambda message: message.value)
    assert rows_of(table, "value") == want and len(want) == 1200

    # The same columns with other values in the middle: only that range changes.
    only = {"columns": "key, encode('again', 'utf-8') AS value", "offsets": "0:10-60,1:400-9999"}
    on_cluster.run("lake", "--later", *[word for pair in only.items() for word in ("--set", "=".join(pair))])
    inside = {0: range(10, 60), 1: range(400, 9999)}
    for place, (_, told) in rows_of(table, "value").items():
        assert told == (b"again" if place[1] in inside[place[0]] else want[place][1])
    assert rows_of(table, "value").keys() == want.keys()


def rows_of(table: Table, column: str) -> dict[Any, tuple[int, bytes]]:
    """Read by pyarrow, not by Spark."""
    import pyarrow.parquet as pq

    rows = [
        row for file in table.files() for row in pq.read_table(table.place / file.path, partitioning=None).to_pylist()
    ]
    found = {
        (row["partition"], row["offset"]): (round(row["timestamp"].timestamp() * 1000), row[column]) for row in rows
    }
    assert len(found) == len(rows), "a record is in the table twice"
    return found


@pytest.mark.long
def test_restore(on_cluster: OnCluster) -> None:
    changes = on_cluster.write(restore.PIPELINE, islice(restore.generator.generate(3, BEGIN, 200), 3000))
    assert len(changes) == 3000
    said = on_cluster.run("restore", "--later")
    log = [
        Change(each.key, each.value, {name: value or b"" for name, value in each.headers})
        for each in on_cluster.messages(restore.generator.TOPIC)
    ]
    want = rebuilt(log)
    assert read_state(on_cluster.home / "restore" / "state.db") == want and len(want) > 100
    assert "checked: all" in said


@pytest.mark.long
def test_activity(on_cluster: OnCluster) -> None:
    disorder = Disorder(network_ms=300, late=0.06, late_ms=58_000, too_late=0.02, too_late_ms=240_000, twice=0.05)
    town = Activity(7, Town(7, members=300, companies=40), job_share=0.02, disorder=disorder)
    rules = Rules(window_ms=HOUR, after_ms=600_000, late_ms=60_000)
    options = [word for each in ("window=1h", "after=10m", "late=1m", "session=30m") for word in ("--set", each)]
    end = BEGIN + 2 * HOUR
    events = [*town.opening_jobs(BEGIN - HOUR // 2, BEGIN, 30), *town.history(BEGIN, end - 300_000, 1200)]
    on_cluster.write(activity.PIPELINE, [*town.members(BEGIN), *events])
    on_cluster.run("activity", "--once", *options)
    want = activity_answer.recommendations(events, rules)
    told = on_cluster.values(activity.RECOMMENDATIONS)
    assert len(told) == len(want) > 300 and {pair_of(each) for each in told} == want.keys()
    for each in told:
        assert {name: each[name] for name in want[pair_of(each)]} == want[pair_of(each)]
    assert in_table(on_cluster.home) == sorted(want)

    begin_ms, end_ms = BEGIN + HOUR // 2, BEGIN + HOUR
    between = ["--from", _text(begin_ms), "--to", _text(end_ms), "--set", "reload=yes"]
    on_cluster.run("activity", "--later", *options, *between)
    insights = activity_answer.insights(events, begin_ms, end_ms, rules, 1_800_000)
    found = json.loads((on_cluster.home / "activity" / "insights.json").read_text())
    assert found == json.loads(json.dumps(asdict(insights)))
    assert in_table(on_cluster.home) == sorted(want)  # the same logic over the same log


def pair_of(value: dict[str, Any]) -> tuple[str, str]:
    return value["interest"], value["job"]


def in_table(home: Path) -> list[tuple[str, str]]:
    import pyarrow.parquet as pq

    files = (home / "activity" / "tables" / activity_table.NAME).glob("hour=*/*.parquet")
    rows = [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]
    return sorted(pair_of(row) for row in rows)


def _text(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat()


def test_the_records_are_of_two_kinds() -> None:
    """Late ones that count and late ones that do not, else the answers would prove less."""
    requests: list[Record] = list(islice(metrics.generator.generate(7, BEGIN, 100, DISORDER), 4000))
    late = [each.time_ms - millis(each.value["time"]) for each in requests]
    assert sum(5_000 < each <= metrics_answer.ALLOWED_MS for each in late) > 10
    assert sum(each > metrics_answer.ALLOWED_MS for each in late) > 0
