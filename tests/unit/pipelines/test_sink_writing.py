"""A task's writing against a real node that misbehaves on order: every row once and in order, or one clear line."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from barnabas import Admin
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink import tasks
from barnabas.pipelines.sink.options import SinkOptions, parse_options
from barnabas.pipelines.sink.prepared import NotOpen, Prepared
from barnabas.pipelines.sink.tasks import Identity, TaskCommit, write_rows
from barnabas.pipelines.sink.transactions import Transactions
from barnabas.pipelines.sink.writer import _settlement
from barnabas.testing import RunningNode, running_node
from tests.transactions.readers import records


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node({"transaction.two.phase.commit.enable": True, "auto.create.topics.enable": False}) as running:
        yield running
        another_worker()


def another_worker() -> None:
    """As if the next task came to a Python worker that has no connection yet."""
    for cluster in tasks.process().clusters.values():
        cluster.close()
    tasks._kept = None


@pytest.fixture
def topic(node: RunningNode, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")
    with Admin(node.bootstrap) as admin:
        admin.create_topic(name, partitions=3)
    return name


def options(node: RunningNode, topic: str | None, **more: str) -> SinkOptions:
    given = {"kafka.bootstrap.servers": node.bootstrap, "kafka.batch.size": "2000", **more}
    return parse_options(given if topic is None else {**given, "topic": topic}, streaming=True)


def rows(first: int, count: int, **columns: pa.Array) -> Iterator[pa.RecordBatch]:
    values = pa.array([f"{number:06d}" for number in range(first, first + count)])
    yield pa.record_batch([values, *columns.values()], names=["value", *columns])


def written(node: RunningNode, topic: str, count: int) -> dict[int, list[str]]:
    """By partition, as a reader of committed records sees them. Markers follow a commit, so it waits a little."""
    deadline = time.monotonic() + 10
    while len(found := records(node.bootstrap, topic, partitions=3)) < count and time.monotonic() < deadline:
        time.sleep(0.02)
    by_partition: dict[int, list[str]] = {}
    for (partition, _), value in sorted(found.items()):
        by_partition.setdefault(partition, []).append(value.decode())
    return by_partition


FAULTS = [
    ("Produce", "NOT_LEADER_OR_FOLLOWER"),
    ("Produce", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("Produce", "cut"),
    ("Metadata", "cut"),
    ("InitProducerId", "NOT_COORDINATOR"),
    ("InitProducerId", "cut"),
]


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
@pytest.mark.parametrize(("api", "fault"), FAULTS)
def test_faults_pass_by(node: RunningNode, topic: str, delivery: str, api: str, fault: str) -> None:
    another_worker()
    if fault == "cut":
        node.disconnect_next(api, times=2)
    else:
        node.fail_next(api, fault, times=3)
    given = options(node, topic, delivery=delivery)
    identity = Identity(f"query-{topic}", "run", 0) if delivery == "exactly-once" else None
    try:
        told = write_rows(given, identity, rows(0, 3000, partition=pa.array([n % 3 for n in range(3000)], pa.int32())))
        if identity is not None:
            assert told.prepared is not None
            assert _settlement(given, identity.query).commit("run", 0, [told.prepared])
    finally:
        node.heal()
    assert told.records == 3000
    found = written(node, topic, 3000)
    assert found == {part: [f"{number:06d}" for number in range(part, 3000, 3)] for part in range(3)}


@pytest.mark.parametrize("fault", ["NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "cut"])
def test_a_coordinator_that_is_away_while_it_is_decided(node: RunningNode, topic: str, fault: str) -> None:
    given = options(node, topic)
    query = f"query-{topic}"
    for batch in range(2):
        told = write_rows(given, Identity(query, "run", batch), rows(batch * 10, 10))
        if fault == "cut":
            node.disconnect_next("EndTxn", times=2)
        else:
            node.fail_next("EndTxn", fault, times=3)
        assert told.prepared is not None
        assert _settlement(given, query).commit("run", batch, [told.prepared])
    node.heal()
    found = [value for values in written(node, topic, 20).values() for value in values]
    assert sorted(found) == [f"{number:06d}" for number in range(20)]


def test_a_prepared_transaction_waits_and_is_ended_once(node: RunningNode, topic: str) -> None:
    given = options(node, topic)
    told = write_rows(given, Identity("twice", "run", 0), rows(0, 10))
    transactions = Transactions(tasks.process().cluster(given))
    assert told.prepared is not None
    name = told.prepared.transactional_id
    before = transactions.describe([name], int(time.time() * 1000))[name]
    assert before is not None and before.left_ms is not None and 800_000 < before.left_ms < 901_000
    [first] = transactions.prepare([told.prepared], 0)
    [kept] = transactions.prepare([told.prepared], 0)  # the answer to the first was lost, say
    assert isinstance(first, Prepared) and isinstance(kept, Prepared) and kept != first
    after = transactions.describe([name], 0)[name]
    assert after is not None and after.state == "Ongoing" and after.left_ms is None, "it has no timeout any more"
    assert isinstance(transactions.commit([told.prepared])[0], NotOpen), "whoever wrote it cannot end it any more"
    for _ in range(3):
        assert isinstance(transactions.commit([kept])[0], Prepared), "once more does no harm"
    assert isinstance(transactions.prepare([told.prepared], 0)[0], NotOpen)
    assert len(written(node, topic, 10)) == 1


def test_ids_are_used_again_and_never_shared(node: RunningNode, topic: str) -> None:
    another_worker()
    given = options(node, topic)
    seen = []
    for batch in range(3):
        messages = [write_rows(given, Identity("ids", "run", batch), rows(0, 5)) for _ in range(2)]
        seen.append([each.prepared.transactional_id for each in messages if each.prepared])
        _settlement(given, "ids").commit("run", batch, [each.prepared for each in messages if each.prepared])
    assert seen[0] == seen[1] == seen[2] and len(set(seen[0])) == 2
    another_worker()
    other = write_rows(given, Identity("ids", "run", 3), rows(0, 5))
    assert other.prepared is not None and other.prepared.transactional_id not in seen[0]


def test_without_two_phase_commit_the_longest_timeout(topic: str, node: RunningNode) -> None:
    with running_node({"transaction.max.timeout.ms": 300_000}) as plain:
        given = options(plain, "t")
        told = write_rows(given, Identity("query", "run", 0), rows(0, 5))
        assert told.prepared is not None
        transactions = Transactions(tasks.process().cluster(given))
        described = transactions.describe([told.prepared.transactional_id], 0)[told.prepared.transactional_id]
        assert described is not None and described.state == "Ongoing" and described.left_ms is not None
        assert told.prepared is not None
        assert _settlement(given, "query").commit("run", 0, [told.prepared])
        own = options(plain, "t", **{"kafka.transaction.timeout.ms": "5000"})
        short = write_rows(own, Identity("short", "run", 0), rows(0, 5))
        with pytest.raises(PipelineError, match=r"micro-batch 0 took too long, .* is about to time out"):
            assert short.prepared is not None
            _settlement(own, "short").commit("run", 0, [short.prepared])


def topics_of(*names: str | None) -> pa.Array:
    return pa.array(names, pa.string())


def test_bad_rows_are_one_line(node: RunningNode, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.pipelines.sink.cluster.MISSING_TOPIC_S", 0.2)
    with pytest.raises(PipelineError, match="a row has no topic"):
        write_rows(options(node, None), None, rows(0, 2, topic=topics_of(topic, None)))
    with pytest.raises(PipelineError, match="there is no topic missing-one"):
        write_rows(options(node, "missing-one"), None, rows(0, 2))
    with pytest.raises(PipelineError, match="a row names partition 9"):
        write_rows(options(node, topic), None, rows(0, 1, partition=pa.array([9], pa.int32())))
    big = iter([pa.record_batch([pa.array([b"x" * 2_000_000])], names=["value"])])
    with pytest.raises(PipelineError, match=r"refuses a batch of \d+ bytes"):
        write_rows(options(node, topic), None, big)


def test_nobody_there_is_one_line() -> None:
    given = parse_options(
        {"kafka.bootstrap.servers": "127.0.0.1:9", "topic": "t", "kafka.delivery.timeout.ms": "300"}, streaming=True
    )
    with pytest.raises(PipelineError, match=r"within 0 s .*127.0.0.1:9: connection refused"):
        write_rows(given, None, rows(0, 1))


def test_an_empty_task_costs_no_transaction(node: RunningNode, topic: str) -> None:
    told: Any = write_rows(options(node, topic), Identity("empty", "run", 0), iter([]))
    assert told == TaskCommit(0, Identity("empty", "run", 0), None)
