"""Spark's own Kafka connector on our node: batches, streams, both ends, and Real-Time Mode."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas import Producer
from barnabas.testing import RunningNode
from tests.transactions.readers import consumer

Topic = Callable[..., str]
ANSWER_MS = 1000  # a micro-batch needs a quarter of a second at the least; what is measured is printed


@pytest.fixture(autouse=True)
def needs_connector(has_connector: bool) -> None:
    if not has_connector:
        pytest.skip("Spark's Kafka connector cannot be fetched here")


def kafka(format_: Any, node: RunningNode, **options: Any) -> Any:
    return format_.format("kafka").option("kafka.bootstrap.servers", node.bootstrap).options(**options)


def test_batches_both_ways(spark: Any, node: RunningNode, topic: Topic) -> None:
    name = topic(partitions=3)
    frame = spark.range(1000).selectExpr(
        "cast(id as string) key",
        "cast(id as string) value",
        "array(named_struct('key', 'n', 'value', encode('h', 'utf-8'))) headers",
    )
    kafka(frame.write, node, topic=name).save()
    read = kafka(spark.read, node, subscribe=name, includeHeaders=True).load()
    rows = read.collect()
    assert Counter(bytes(row.value) for row in rows) == {b"%d" % number: 1 for number in range(1000)}
    assert all(row.headers[0].key == "n" and bytes(row.headers[0].value) == b"h" for row in rows)
    ours = spark.read.format("barnabas").option("subscribe", name).load()
    place = ["partition", "offset", "key", "value"]
    assert ours.select(place).orderBy(*place).collect() == read.select(place).orderBy(*place).collect()


def test_parts_of_a_topic(spark: Any, node: RunningNode, topic: Topic) -> None:
    name = topic(partitions=2)
    with Producer(node.bootstrap) as producer:
        for number in range(100):
            producer.send(name, value=str(number), partition=number % 2)
    first, last = json.dumps({name: {"0": 10, "1": -2}}), json.dumps({name: {"0": -1, "1": 5}})
    part = kafka(spark.read, node, subscribe=name, startingOffsets=first, endingOffsets=last, minPartitions=4).load()
    assert sorted(int(row.value) for row in part.collect()) == sorted([*range(20, 100, 2), *range(1, 10, 2)])
    late = kafka(spark.read, node, subscribePattern=f"{name}.*", startingTimestamp=int(time.time() * 1000) - 60_000)
    assert late.load().count() == 100


def test_streams_both_ways(spark: Any, node: RunningNode, topic: Topic, tmp_path: Path) -> None:
    source, sink = topic(partitions=2), topic(partitions=2)
    frame = spark.range(400).selectExpr("cast(id as string) key", "cast(id as string) value")
    kafka(frame.write, node, topic=source).save()
    reader = kafka(spark.readStream, node, subscribe=source, startingOffsets="earliest", maxOffsetsPerTrigger=150)
    changed = reader.load().selectExpr("key", "concat('seen ', cast(value as string)) value")
    writer = kafka(changed.writeStream, node, topic=sink, checkpointLocation=str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(120)
    assert sum(each["numInputRows"] for each in query.recentProgress) == 400
    found = kafka(spark.read, node, subscribe=sink).load().collect()
    assert Counter(bytes(row.value) for row in found) == {b"seen %d" % number: 1 for number in range(400)}


@pytest.fixture
def echoes(node: RunningNode) -> Iterator[Callable[[str], dict[str, float]]]:
    """Listens to a topic and notes when each value came."""
    stop = threading.Event()
    threads = []

    def listen(name: str) -> dict[str, float]:
        came: dict[str, float] = {}
        ready = threading.Event()

        def run() -> None:
            reader = consumer(node.bootstrap, **{"group.id": name, "auto.offset.reset": "latest"})
            reader.subscribe([name], on_assign=lambda *_: ready.set())
            while not stop.is_set():
                for message in reader.consume(100, 0.05):
                    if not message.error():
                        came.setdefault((message.value() or b"").decode(), time.perf_counter())
            reader.close()

        threads.append(threading.Thread(target=run))
        threads[-1].start()
        assert ready.wait(30)
        return came

    yield listen
    stop.set()
    for thread in threads:
        thread.join(10)


def test_real_time_mode(
    spark: Any, node: RunningNode, topic: Topic, tmp_path: Path, echoes: Callable[[str], dict[str, float]]
) -> None:
    """An online path in SQL expressions, topic to topic, in milliseconds and not in micro-batches."""
    source, sink = topic(), topic()
    came = echoes(sink)
    reader = kafka(spark.readStream, node, subscribe=source, startingOffsets="latest").load()
    changed = reader.selectExpr("key", "upper(cast(value as string)) value")
    writer = kafka(changed.writeStream, node, topic=sink, checkpointLocation=str(tmp_path / "checkpoint"))
    query = writer.outputMode("update").trigger(realTime="5 seconds").start()
    sent: dict[str, float] = {}
    try:
        with Producer(node.bootstrap, linger_ms=0) as producer:
            deadline = time.monotonic() + 60
            while not came:  # until the query is up
                assert query.exception() is None, query.exception()
                assert time.monotonic() < deadline, "nothing came through"
                producer.send(source, value="up?")
                producer.flush()
                time.sleep(0.2)
            for number in range(100):
                sent[f"E{number}"] = time.perf_counter()
                producer.send(source, value=f"e{number}")
                producer.flush()
                time.sleep(0.02)
        deadline = time.monotonic() + 30
        while not sent.keys() <= came.keys() and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        query.stop()
    assert sent.keys() <= came.keys()
    took = sorted((came[value] - at) * 1000 for value, at in sent.items())
    print(f"\nReal-Time Mode: p50 {statistics.median(took):.1f} ms, p95 {took[94]:.1f} ms")
    assert statistics.median(took) < ANSWER_MS
