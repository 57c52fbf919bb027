"""The two writers that Spark drives, driven here: micro-batches and batches, committed, aborted, repeated."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql.types import StructType

from barnabas import Admin
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink import settle, tasks, writer
from barnabas.pipelines.sink.tasks import TaskCommit
from barnabas.pipelines.sink.writer import BarnabasBatchWriter, BarnabasStreamWriter
from barnabas.testing import RunningNode, running_node
from tests.transactions.readers import records

VALUES = StructType().add("value", "string")


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node({"transaction.two.phase.commit.enable": True}) as running:
        yield running
        for cluster in tasks.process().clusters.values():
            cluster.close()
        tasks._kept = None


@pytest.fixture(autouse=True)
def no_task_is_dying(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many rounds as there are, without the two seconds that Spark gives a task: none runs here. (tests/spark has
    them.)"""
    shorter = tuple(pause_s / 20 for pause_s in settle.WHILE_TASKS_DIE_S)
    monkeypatch.setattr(settle, "WHILE_TASKS_DIE_S", shorter)


@pytest.fixture
def topic(node: RunningNode, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")
    with Admin(node.bootstrap) as admin:
        admin.create_topic(name, partitions=1)
    return name


def values(*texts: str) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([pa.array(texts)], names=["value"])


def found(node: RunningNode, topic: str) -> list[str]:
    return sorted(value.decode() for value in records(node.bootstrap, topic, partitions=1).values())


def has(node: RunningNode, topic: str, *wanted: str) -> None:
    deadline = time.monotonic() + 30
    while (there := found(node, topic)) != sorted(wanted):
        assert time.monotonic() < deadline, f"{topic} has {there}, not {wanted}"
        time.sleep(0.02)


class Stream:
    """One query: what Spark tells a task of it stands in the task's context."""

    def __init__(self, node: RunningNode, topic: str, monkeypatch: pytest.MonkeyPatch, **options: str) -> None:
        given = {"kafka.bootstrap.servers": node.bootstrap, "topic": topic, "checkpointLocation": f"/c/{topic}"}
        self.writer = BarnabasStreamWriter({**given, **options}, VALUES)
        self.properties = {writer.QUERY_ID_PROPERTY: f"query-{topic}", writer.RUN_ID_PROPERTY: "run"}
        context = SimpleNamespace(getLocalProperty=self.properties.get)
        monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))

    def task(self, batch: int, *texts: str) -> TaskCommit:
        self.properties[writer.BATCH_ID_PROPERTY] = str(batch)
        return self.writer.write(iter(values(*texts)))


def test_a_micro_batch_counts_once_however_often_it_is_run(
    node: RunningNode, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(node, topic, monkeypatch)
    stream.writer.commit([stream.task(0, "a", "b"), stream.task(0, "c"), None], 0)
    has(node, topic, "a", "b", "c")
    stream.writer.commit([stream.task(0, "a", "b"), stream.task(0, "c")], 0)  # Spark did not hear of it
    stream.writer.commit([stream.task(1, "d")], 1)
    has(node, topic, "a", "b", "c", "d")


def test_a_micro_batch_that_failed_leaves_nothing(
    node: RunningNode, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(node, topic, monkeypatch)
    stream.writer.commit([stream.task(0, "a")], 0)
    lost = stream.task(1, "lost")
    stream.writer.abort([lost, None], 1)
    again = stream.task(1, "b")
    stream.writer.commit([again], 1)
    has(node, topic, "a", "b")
    stream.writer.abort([], 2)  # a stream that is stopped: its last commit says who it was
    has(node, topic, "a", "b")


def test_at_least_once_needs_no_query(node: RunningNode, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream(node, topic, monkeypatch, delivery="at-least-once")
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: None))
    told = stream.task(0, "a")
    assert told.identity is None
    stream.writer.commit([told], 0)
    stream.writer.abort([], 1)
    has(node, topic, "a")
    exactly = Stream(node, topic, monkeypatch)
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: None))
    with pytest.raises(PipelineError, match="Spark does not say which query this is"):
        exactly.task(0, "b")


def batch_writer(node: RunningNode, topic: str, **options: str) -> BarnabasBatchWriter:
    given = {"kafka.bootstrap.servers": node.bootstrap, "topic": topic, "delivery": "exactly-once"}
    return BarnabasBatchWriter({**given, **options}, VALUES)


def test_a_batch_is_there_whole_or_not_at_all(node: RunningNode, topic: str) -> None:
    first = batch_writer(node, topic)
    first.commit([first.write(values("a")), first.write(values("b"))])
    has(node, topic, "a", "b")
    second = batch_writer(node, topic)
    second.abort([second.write(values("lost")), None])
    third = batch_writer(node, topic, delivery="at-least-once")
    third.commit([third.write(values("c"))])
    third.abort([])
    has(node, topic, "a", "b", "c")


def test_a_batch_with_a_name_counts_once(node: RunningNode, topic: str) -> None:
    for _ in range(2):
        named = batch_writer(node, topic, queryId=f"mine-{topic}", batchId="0")
        named.commit([named.write(values("a"))])
    given_up = batch_writer(node, topic, queryId=f"mine-{topic}", batchId="1")
    given_up.abort([given_up.write(values("lost"))])
    named = batch_writer(node, topic, queryId=f"mine-{topic}", batchId="1")
    named.commit([named.write(values("b"))])
    has(node, topic, "a", "b")
