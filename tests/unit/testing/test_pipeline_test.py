"""`pipeline_test` over a real node: rows, event time, results and dead letters. Spark alone is replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas import Consumer, Producer
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Outcome, RunContext, Topic
from barnabas.testing import PipelineTest, RunningNode, pipeline_test, running_node
from tests.support.without_spark import Query, Shop

TEN = 1_777_629_600_000  # 2026-05-01T10:00:00Z
SPARK: Any = SimpleNamespace(conf=SimpleNamespace(get=lambda *_: "1", set=lambda *_: None))


class Typed(Shop):
    """Its orders have a schema and an event time of their own."""

    reads = (Topic("orders", schema="id STRING NOT NULL, at TIMESTAMP NOT NULL", event_time="at"),)


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as one:
        yield one


@pytest.fixture
def shop(node: RunningNode) -> Iterator[PipelineTest]:
    with pipeline_test(Shop(), spark=SPARK, bootstrap=node.bootstrap) as test:
        yield test


def records(test: PipelineTest, topic: str) -> list[tuple[Any, Any, int]]:
    with Consumer(test._topic(topic), bootstrap=test.bootstrap, follow=False) as consumer:
        return [(each.key, each.value, each.timestamp_ms) for each in consumer]


def test_rows_have_the_time_of_their_event_and_the_key_that_is_named(shop: PipelineTest) -> None:
    shop.feed("orders", [{"id": "7", "time": "2026-05-01T10:00:00Z"}], key="id")
    shop.feed("orders", [{"id": "8"}], sent="2026-05-01T10:00:01")  # UTC unless it says another zone
    shop.feed("orders", [{"id": "9", "time": "soon"}])
    first, second, third = records(shop, "orders")
    assert first == (b"7", b'{"id":"7","time":"2026-05-01T10:00:00Z"}', TEN)
    assert (second[0], second[2]) == (None, TEN + 1000)
    assert third[2] > TEN + 86_400_000, "a time that is none: it is sent now"


def test_event_time_is_moved_by_the_last_row(node: RunningNode) -> None:
    with pipeline_test(Typed(), spark=SPARK, bootstrap=node.bootstrap) as test:
        with pytest.raises(PipelineError, match="feed 'orders' a row first"):
            test.advance("orders", "2026-05-01T10:00:00Z")
        test.feed("orders", [{"id": "7", "at": "2026-05-01T10:00:00Z"}], key="id")
        test.advance("orders", "2026-05-01T10:00:05Z")
        assert records(test, "orders")[-1] == (b"7", b'{"id":"7","at":"2026-05-01T10:00:05Z"}', TEN + 5000)


def test_each_test_has_topics_of_its_own(node: RunningNode, shop: PipelineTest) -> None:
    shop.feed("orders", [{"id": "1"}])
    with pipeline_test(Shop(), spark=SPARK, bootstrap=node.bootstrap) as other:
        assert records(other, "orders") == [] and len(records(shop, "orders")) == 1


def test_a_run_waits_for_its_queries_and_results_are_those_of_all_runs(shop: PipelineTest) -> None:
    for _ in range(2):
        shop.run()
    assert shop.results("revenue") == [{"item": "tea", "revenue": 4.5}] * 2


def test_late_rows_are_counted_over_runs(node: RunningNode) -> None:
    class Late(Shop):
        def now(self, context: RunContext) -> None:
            query: Any = Query(3, stateOperators=[{"numRowsDroppedByWatermark": 2, "memoryUsedBytes": 0}])
            context.queries["revenue"] = query

    with pipeline_test(Late(), spark=SPARK, bootstrap=node.bootstrap) as test:
        test.run()
        test.run()
        assert test.late == 4


def test_a_query_whose_worker_came_up_too_late_is_started_again(node: RunningNode) -> None:
    class Slow(Shop):
        failures = 2

        def now(self, context: RunContext) -> None:
            writer: Any = SimpleNamespace(start=self.query)
            context.writers["revenue"] = writer
            context.queries["revenue"] = self.query()

        def query(self) -> Any:
            made = Query(1)
            if self.failures:
                self.failures -= 1
                made.awaitTermination = self.fail  # type: ignore[method-assign]
            return made

        def fail(self, seconds: float) -> bool:
            raise RuntimeError("Python worker failed to connect back.")

    with pipeline_test(Slow(), spark=SPARK, bootstrap=node.bootstrap) as test:
        test.run()


def test_any_other_failure_of_a_query_is_the_tests(node: RunningNode) -> None:
    class Broken(Shop):
        def now(self, context: RunContext) -> None:
            query: Any = Query(1)
            query.awaitTermination = self.fail
            context.queries["revenue"] = query

        def fail(self, seconds: float) -> bool:
            raise RuntimeError("division by zero")

    with (
        pipeline_test(Broken(), spark=SPARK, bootstrap=node.bootstrap) as test,
        pytest.raises(RuntimeError, match="zero"),
    ):
        test.run()


def test_the_bulk_half_is_given_its_range_and_options(node: RunningNode) -> None:
    given: list[tuple[int | None, int | None, Any]] = []

    class Ranged(Shop):
        def later(self, context: RunContext) -> Outcome:
            given.append((context.begin_ms, context.end_ms, context.options))
            return super().later(context)

    with pipeline_test(Ranged(), spark=SPARK, bootstrap=node.bootstrap, options={"window": "1h"}) as test:
        assert test.later(TEN, TEN + 1).numbers == {"items": 1, "orders_read": 2000}
    assert given == [(TEN, TEN + 1, {"window": "1h"})]


def test_dead_letters_come_with_their_reason(node: RunningNode) -> None:
    with pipeline_test(Typed(), spark=SPARK, bootstrap=node.bootstrap) as test:
        with Producer(node.bootstrap) as producer:
            topic = test._topic("orders") + ".dead-letter"
            producer.send(topic, b"{", headers={"error": b"it is no JSON", "offset": b"3"})
        assert test.dead_letters("orders") == [(b"{", "it is no JSON")]


def test_a_topic_that_the_pipeline_does_not_have(shop: PipelineTest) -> None:
    for wrong in (lambda: shop.feed("ordres", [{}]), lambda: shop.results("ordres")):
        with pytest.raises(PipelineError, match=r"shop has no topic 'ordres'\. It has orders, revenue"):
            wrong()


def test_without_a_node_it_starts_one(tmp_path: Path) -> None:
    with pipeline_test(Shop(), spark=SPARK) as test:
        test.feed("orders", [{"id": "1"}])
        assert len(records(test, "orders")) == 1 and test.folder.is_dir()
    assert not test.folder.exists()
