"""Streaming reads: admission, available-now, restarts, new partitions, lost data, and the group that shows it all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin, Producer
from barnabas.testing import RunningNode

Topic = Callable[..., str]


def produce(node: RunningNode, topic: str, numbers: range, partitions: int = 1) -> None:
    with Producer(node.bootstrap) as producer:
        for number in numbers:
            producer.send(topic, value=str(number), partition=number % partitions)


class Collected:
    """The batches that a query has made, as lists of numbers; a directory keeps where it is."""

    def __init__(self, spark: Any, checkpoint: Path, form: str = "barnabas", **options: str) -> None:
        self.batches: list[list[int]] = []
        self._stream = spark.readStream.format(form).options(**options).load()
        self._checkpoint = str(checkpoint)

    def start(self, **trigger: Any) -> Any:
        def keep(frame: Any, number: int) -> None:
            self.batches.append(sorted(int(bytes(row.value)) for row in frame.select("value").collect()))

        writer = self._stream.writeStream.foreachBatch(keep).option("checkpointLocation", self._checkpoint)
        return writer.trigger(**trigger).start()

    def run(self) -> Any:
        """All that is there, then the end."""
        query = self.start(availableNow=True)
        query.awaitTermination()
        return query

    @property
    def seen(self) -> list[int]:
        return sorted(number for batch in self.batches for number in batch)


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come in time"
        time.sleep(0.1)


def test_a_stream_in_measured_steps_goes_on_where_it_was(
    spark: Any, node: RunningNode, admin: Admin, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=2)
    produce(node, name, range(100), partitions=2)
    options = {"subscribe": name, "startingOffsets": "earliest", "kafka.group.id": f"steps-{name}"}
    first = Collected(spark, tmp_path, maxOffsetsPerTrigger="40", **options)
    query = first.run()
    assert [len(batch) for batch in first.batches] == [40, 40, 20]
    assert first.seen == list(range(100))
    progress = query.recentProgress[0]["sources"][0]
    assert json.loads(progress["endOffset"]) == {name: {"0": 20, "1": 20}}
    assert json.loads(progress["latestOffset"]) == {name: {"0": 50, "1": 50}}  # the true end: progress shows the lag

    group = admin.describe_group(f"steps-{name}")
    assert {(part.partition, part.committed, part.lag_records) for part in group.partitions} == {(0, 50, 0), (1, 50, 0)}

    produce(node, name, range(100, 130), partitions=2)
    again = Collected(spark, tmp_path, **options)
    again.run()
    assert again.seen == list(range(100, 130))


def test_a_partition_that_comes_later_is_read_from_its_start(
    spark: Any, node: RunningNode, admin: Admin, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=1)
    produce(node, name, range(10))
    stream = Collected(spark, tmp_path, subscribe=name, startingOffsets="earliest")
    query = stream.start(processingTime="0 seconds")
    try:
        wait_for(lambda: len(stream.seen) == 10)
        admin.grow_topic(name, 3)
        produce(node, name, range(10, 40), partitions=3)
        wait_for(lambda: len(stream.seen) >= 40)
    finally:
        query.stop()
    assert stream.seen == list(range(40))


def test_lost_records_end_a_stream_or_are_skipped(
    spark: Any, node: RunningNode, admin: Admin, topic: Topic, tmp_path: Path
) -> None:
    name = topic()
    produce(node, name, range(50))
    options = {"subscribe": name, "startingOffsets": "earliest"}
    Collected(spark, tmp_path, **options, maxOffsetsPerTrigger="1000").run()
    produce(node, name, range(50, 100))
    admin.delete_records(name, 80)
    with pytest.raises(Exception, match=r"data was lost: .*begins at 80, and records from 50 on are wanted"):
        Collected(spark, tmp_path, **options).run()
    lenient = Collected(spark, tmp_path, failOnDataLoss="false", **options)
    lenient.run()
    assert lenient.seen == list(range(80, 100))


def test_a_query_of_the_connector_goes_on_with_ours(
    spark: Any, node: RunningNode, topic: Topic, tmp_path: Path, has_connector: bool
) -> None:
    if not has_connector:
        pytest.skip("Spark's own connector cannot be had here")
    name = topic(partitions=2)
    produce(node, name, range(20), partitions=2)
    options = {"kafka.bootstrap.servers": node.bootstrap, "subscribe": name, "startingOffsets": "earliest"}
    theirs = Collected(spark, tmp_path, "kafka", **options)
    theirs.run()
    assert theirs.seen == list(range(20))
    produce(node, name, range(20, 50), partitions=2)
    ours = Collected(spark, tmp_path, **options)
    ours.run()
    assert ours.seen == list(range(20, 50))
