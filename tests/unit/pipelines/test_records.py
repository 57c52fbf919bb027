"""Records of generators written to a node, results read back, topics made or missed, and what is told of a run."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any  # a run without Spark

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import topics
from barnabas.pipelines.framework.pipeline import Pipeline, Topic
from barnabas.pipelines.framework.progress import watching
from barnabas.pipelines.framework.progress.lags import Lags
from barnabas.pipelines.framework.progress.watching import Shown, Watch
from barnabas.pipelines.framework.readback import read_from_end
from barnabas.pipelines.framework.records import TOMBSTONE, Record, feed, write
from barnabas.pipelines.framework.running import Wanted
from barnabas.testing import RunningNode, running_node
from tests.conftest import FAST_GROUPS
from tests.linked_clusters.pair import commit
from tests.support.connect import all_records
from tests.support.members import until
from tests.unit.pipelines.recorded_spark import Query, RecordedSpark


class Orders(Pipeline):
    name = "orders"
    reads = (Topic("orders", 1, schema="id STRING"), Topic("history", 1, streamed=False))
    writes = (Topic("totals", 1, configs={"cleanup.policy": "compact"}),)

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        yield Record("orders", "a", {"id": "1"}, begin_ms)


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node(FAST_GROUPS | {"offsets.topic.num.partitions": "1", "auto.create.topics.enable": "false"}) as it:
        yield it


@pytest.fixture
def named(request: pytest.FixtureRequest) -> str:
    return str(request.node.name).replace("_", "-")[:60]


def prepare(node: RunningNode, prefix: str, **asked: bool) -> str:
    return topics.prepare(node.bootstrap, Orders(), lambda name: f"{prefix}.{name}", **asked)


def names(node: RunningNode, prefix: str) -> dict[str, int]:
    with topics.open_admin(node.bootstrap) as admin:
        return {each.name.removeprefix(f"{prefix}."): each.partitions for each in admin.topics() if prefix in each.name}


def test_topics_that_are_written_are_made_and_missing_inputs_are_told(node: RunningNode, named: str) -> None:
    with pytest.raises(PipelineError, match="there is no topic") as problem:
        prepare(node, named, make_inputs=False, now=True)
    assert "bring believable data with --generate" in str(problem.value)
    assert names(node, named) == {}
    cluster = prepare(node, named, make_inputs=True, now=True)
    assert names(node, named) == {"orders": 1, "history": 1, "totals": 1, "orders.dead-letter": 1}
    assert prepare(node, named, make_inputs=False, now=True) == cluster  # they are there, and stay as they are
    with topics.open_admin(node.bootstrap) as admin:
        assert admin.configs("topic", f"{named}.totals")["cleanup.policy"].value == "compact"
        topics.create(admin, Topic("totals"), f"{named}.totals")  # somebody was faster


def test_records_are_written_as_json_with_their_own_times(node: RunningNode, named: str) -> None:
    prepare(node, named, make_inputs=True, now=True)
    records = [
        Record("orders", "a", {"n": 1}, 1_700_000_000_000, {"kind": b"x"}),
        Record("orders", None, TOMBSTONE, 1_700_000_000_001),
    ]
    assert write(node.bootstrap, records, lambda name: f"{named}.{name}") == 2
    first, second = all_records(node.bootstrap, f"{named}.orders")
    assert (first.key(), first.value(), first.timestamp()[1]) == (b"a", b'{"n":1}', 1_700_000_000_000)
    assert first.headers() == [("kind", b"x")] and (second.key(), second.value()) == (None, None)


def test_a_generator_is_played_in_real_time_until_it_is_told_to_stop(node: RunningNode, named: str) -> None:
    prepare(node, named, make_inputs=True, now=True)
    begun = int(time.time() * 1000)
    told: list[Record] = []
    records = (Record("orders", "a", {"n": number}, begun + number * 100) for number in range(10_000))
    took = time.monotonic()
    count = feed(node.bootstrap, records, lambda: len(told) < 4, lambda name: f"{named}.{name}", told.append)
    assert count == 4 and 0.25 < time.monotonic() - took < 10  # the fourth is due after 300 ms
    assert [json.loads(each.value() or b"")["n"] for each in all_records(node.bootstrap, f"{named}.orders")] == [
        *range(4)
    ]


def test_topics_are_read_from_their_end_on(node: RunningNode, named: str) -> None:
    prepare(node, named, make_inputs=True, now=True)
    write(node.bootstrap, [Record("totals", "old", {}, 1)], lambda name: f"{named}.{name}")
    over = threading.Event()
    found = read_from_end(node.bootstrap, [f"{named}.totals", f"{named}.nowhere"], over.is_set)
    got: list[Shown] = []
    reader = threading.Thread(target=lambda: got.extend(found))
    reader.start()
    try:
        sent = iter(range(100))

        def arrives() -> bool:
            record = Record("totals", f"new{next(sent)}", {"n": 1}, 2, {"error": b"why"})
            write(node.bootstrap, [record], lambda name: f"{named}.{name}")
            return bool(got)

        until(arrives, "something new is read")
    finally:
        over.set()
        reader.join(10)
    assert got[0].key.startswith("new") and got[0].headers == {"error": "why"} and got[0].value == b'{"n":1}'


def test_how_far_a_group_is(node: RunningNode, named: str) -> None:
    prepare(node, named, make_inputs=True, now=True)
    write(node.bootstrap, [Record("orders", "a", {}, 1) for _ in range(10)], lambda name: f"{named}.{name}")
    lags = Lags(node.bootstrap)
    try:
        assert lags.of(named) == []
        commit(node.bootstrap, named, f"{named}.orders", {0: 4})
        (found,) = lags.of(named)
        assert (found.topic, found.partition, found.lag_records) == (f"{named}.orders", 0, 6)
        assert found.lag_seconds is not None and found.lag_seconds > 0
        assert lags._by_librdkafka(named)[0].lag_records == 6 and lags._by_librdkafka("nobody") == []
    finally:
        lags.close()


class House:
    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []

    def tell(self, part: str, state: dict[str, Any]) -> None:
        assert part == "now"
        self.told.append(state)


def progress(batch: int, rows: int, **more: Any) -> Any:
    told = {
        "batchId": batch,
        "numInputRows": rows,
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()),
        "durationMs": {"triggerExecution": 120},
        "stateOperators": [{"memoryUsedBytes": 1000}],
        **more,
    }
    return SimpleNamespace(json=json.dumps(told))


def test_a_run_is_watched(node: RunningNode, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and times as Spark tells them, lag and results as the cluster does."""
    monkeypatch.setattr(watching, "LAG_EVERY_S", 0.05)
    prepare(node, named, make_inputs=True, now=True)
    renamed = {name: f"{named}.{name}" for name in ("orders", "totals", "history")}
    wanted = Wanted(Orders(), node.bootstrap, tmp_path, topics=renamed)
    query = Query(RecordedSpark().read, "2")
    query.recentProgress = [progress(0, 10), progress(1, 30, observedMetrics={"bad.orders": {"bad": 3}})]
    house = House()
    context = SimpleNamespace(
        queries={"sums": query},
        groups=lambda: {named: {f"{named}.orders"}},
        spark_ui=lambda: "http://here:4040",
    )
    run: Any = SimpleNamespace(context=context, wanted=wanted, house=house, troubles={"sums": "a worker died"})
    write(node.bootstrap, [Record("orders", "a", {}, 1)] * 3, wanted.topic)
    commit(node.bootstrap, named, f"{named}.orders", {0: 1})
    shown: list[Shown] = []
    with Watch(run) as watch:
        watch.on_result = shown.append
        until(lambda: watch.look().lag_records == 2, "the lag is known")
        sent = iter(range(1000))

        def results_come() -> bool:
            number = next(sent)
            write(node.bootstrap, [Record("totals", f"k{number}", {"n": number}, 2)], wanted.topic)
            write(node.bootstrap, [Record("orders.dead-letter", None, {"n": number}, 2)], wanted.topic)
            return watch.results > 0 and watch.bad > 3

        until(results_come, "results and dead letters are read back")
        watch.tell({"pid": 7})
    snapshot = watch.look()
    (state,) = snapshot.queries
    assert (state.rows, state.batches, state.batch_ms, state.state_bytes) == (40, 2, 120, 1000)
    assert state.rows_per_s > 0 and state.trouble == "" and run.troubles == {}  # it works again
    assert snapshot.ui == "http://here:4040" and snapshot.bad >= 4
    assert watch.first_result_s is not None and shown and len(watch.dead) > 0
    assert house.told[0]["pid"] == 7 and house.told[0]["queries"][0]["name"] == "sums"


def test_a_query_that_is_ending_has_no_progress(tmp_path: Path) -> None:
    class Ending(Query):
        @property
        def recentProgress(self) -> list[Any]:
            raise RuntimeError("the query has gone")

        @recentProgress.setter
        def recentProgress(self, given: list[Any]) -> None:
            return

    context = SimpleNamespace(queries={"sums": Ending(RecordedSpark().read, "2")}, spark_ui=lambda: None)
    run: Any = SimpleNamespace(context=context, wanted=None, house=None, troubles={})
    snapshot = Watch(run).look()
    assert (snapshot.queries[0].rows, snapshot.lag_records) == (0, None)
