"""Rounds of connectors on Spark, run here without it: what they answer, and what goes from one to the next."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from confluent_kafka import Producer

from barnabas.connect.cluster import positions
from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.cluster.positions import Known
from barnabas.connect.definition.definition import Definition
from barnabas.connect.definition.loading import load
from barnabas.connect.spark import sink_round, source_round
from barnabas.connect.spark.asked import Begin, SinkAnswer, SinkAsked, SourceAnswer, SourceAsked
from barnabas.testing import RunningNode, running_node
from tests.support.connect import all_records, written
from tests.support.fake_s3 import FakeS3
from tests.support.members import QUIET
from tests.support.s3 import S3Bucket
from tests.unit.connect.spark.local import COUNTING


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.fixture(scope="module")
def bucket() -> Iterator[S3Bucket]:
    with FakeS3() as store:
        yield store.bucket("rounds")


def source_answer(
    node: RunningNode, definition: Definition, folder: Path, known: Known | None, seconds: float = 0.5
) -> SourceAnswer:
    partition = positions.partition_of("main", positions.PARTITIONS)
    asked = SourceAsked(
        definition=definition,
        bootstrap=node.bootstrap,
        folders=[str(folder)],
        seconds=seconds,
        task=0,
        partition=partition,
        splits=["main"],
        known=known,
    )
    [answer] = source_round.run([msgspec.json.encode(asked).decode()])
    return msgspec.json.decode(answer, type=SourceAnswer)


def test_rounds_of_a_source_follow_each_other(node: RunningNode, tmp_path: Path) -> None:
    """With positions from the round before, with old ones, and without any: each goes on from the last committed."""
    written(tmp_path / "counting.py", COUNTING)
    file = tmp_path / "counting.py"
    [definition] = load(f"""{{name: counted, from: {{python: {{file: "{file}"}}}}, to: {{topic: counted}}}}""")
    positions.ensure(Cluster(node.bootstrap), definition)
    first = source_answer(node, definition, tmp_path, None)
    assert first.failure is None and first.known is not None and first.records > 0
    second = source_answer(node, definition, tmp_path, first.known)
    assert second.known is not None and second.known.offset > first.known.offset
    answers = [
        first,
        second,
        source_answer(node, definition, tmp_path, first.known),  # as of a driver that has slept
        source_answer(node, definition, tmp_path, None),
        source_answer(node, definition, tmp_path, Known({"main": {"number": -5}}, 10**9)),  # of a topic made anew
    ]
    numbers = [json.loads(each.value() or b"")["number"] for each in all_records(node.bootstrap, "counted")]
    assert sorted(numbers) == list(range(1, sum(each.records for each in answers) + 1))


def test_a_round_that_goes_on_is_fenced(node: RunningNode, tmp_path: Path) -> None:
    written(tmp_path / "counting.py", COUNTING)
    file = tmp_path / "counting.py"
    [definition] = load(f"""{{name: fenced, from: {{python: {{file: "{file}"}}}}, to: {{topic: fenced}}}}""")
    positions.ensure(Cluster(node.bootstrap), definition)
    answers: list[SourceAnswer] = []
    slow = threading.Thread(target=lambda: answers.append(source_answer(node, definition, tmp_path, None, 20.0)))
    slow.start()
    while not positions.read(Cluster(node.bootstrap), definition, list(range(positions.PARTITIONS))):
        time.sleep(0.05)
    after = source_answer(node, definition, tmp_path, None)  # Spark has taken the first for dead
    slow.join()
    assert after.failure is None
    [before] = answers
    assert before.failure is not None and before.failure.kind == "fenced"
    numbers = [json.loads(each.value() or b"")["number"] for each in all_records(node.bootstrap, "fenced")]
    assert sorted(numbers) == list(range(1, before.records + after.records + 1))


def sink_answer(node: RunningNode, definition: Definition, begins: list[Begin], gather_s: float) -> SinkAnswer:
    asked = SinkAsked(
        definition=definition,
        bootstrap=node.bootstrap,
        folders=[],
        seconds=1.0,
        gather_s=gather_s,
        task=0,
        partitions=begins,
    )
    [answer] = sink_round.run([msgspec.json.encode(asked).decode()])
    return msgspec.json.decode(answer, type=SinkAnswer)


def send(node: RunningNode, topic: str, numbers: range) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": node.bootstrap})
    for number in numbers:
        producer.produce(topic, json.dumps({"number": number}).encode(), partition=number % 2)
    assert producer.flush(10) == 0


def test_a_sink_that_gathers_has_longer_rounds(node: RunningNode, bucket: S3Bucket) -> None:
    """One object of a partition for a round, not one for each second; where the objects end is where the next begins,
    whatever the driver says."""
    text = {"name": "objects", "from": {"topics": ["objects"], "format": "json"}, "to": {"s3": bucket.options}}
    [definition] = load(json.dumps(text))
    Cluster(node.bootstrap).ensure_topics([new_topic("objects", 2)])
    send(node, "objects", range(100))
    later = threading.Timer(0.8, send, (node, "objects", range(100, 200)))
    later.start()
    answer = sink_answer(node, definition, [Begin("objects", each, 0) for each in range(2)], gather_s=1.5)
    later.join()
    assert answer.failure is None
    assert {(each.partition, each.durable, each.problem) for each in answer.partitions} == {(0, 100, ""), (1, 100, "")}
    assert answer.records == 200
    assert len(bucket.names()) == 2
    again = sink_answer(node, definition, [Begin("objects", each, 0) for each in range(2)], gather_s=1.5)
    assert {each.durable for each in again.partitions} == {100} and again.records == 0
    assert sorted(row["number"] for row in bucket.all_rows()) == list(range(200))


def test_a_target_that_is_away_is_told(node: RunningNode) -> None:
    options = {"bucket": "b", "endpoint": "http://127.0.0.1:1", "region": "x", "access_key_id": "k"}
    text = {"name": "away", "from": {"topics": ["away"]}, "to": {"s3": {**options, "secret_access_key": "s"}}}
    [definition] = load(json.dumps(text))
    Cluster(node.bootstrap).ensure_topics([new_topic("away", 2)])
    send(node, "away", range(10))
    answer = sink_answer(node, definition, [Begin("away", each, 0) for each in range(2)], gather_s=1.0)
    assert answer.failure is None and answer.records == 0
    assert all(each.durable == -1 and each.problem for each in answer.partitions)
