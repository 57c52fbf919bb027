"""Writing topics with `format("barnabas")`, in batches and in streams, on a Spark that lives."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import BinaryType

from barnabas import Admin
from barnabas.model.partitioning import partition_for_key
from barnabas.pipelines import PipelineError, exactly_once
from barnabas.testing import RunningNode
from tests.spark.test_sink_killed import open_transactions_at, open_transactions_now
from tests.transactions.readers import records

Topic = Callable[..., str]


def read(spark: Any, *topics: str) -> list[Any]:
    frame = spark.read.format("barnabas").option("subscribe", ",".join(topics)).option("includeHeaders", True).load()
    return list(frame.orderBy("topic", "partition", "offset").collect())


def write(frame: Any, **options: Any) -> None:
    frame.write.format("barnabas").options(**options).mode("append").save()


def told(error: BaseException) -> str:
    """The line that matters of what Spark says."""
    lines = [line for line in str(error).splitlines() if "PipelineError:" in line]
    return lines[-1].partition("PipelineError: ")[2] if lines else str(error)


def test_every_column_and_several_topics(spark: Any, topic: Topic) -> None:
    one, two = topic(partitions=3), topic(partitions=2)
    frame = spark.range(300).selectExpr(
        f"if(id % 2 = 0, '{one}', '{two}') topic",
        "if(id % 3 = 0, null, cast(id as string)) key",
        "if(id % 5 = 0, null, encode(cast(id as string), 'utf-8')) value",
        "if(id % 7 = 0, 1, null) partition",
        "if(id % 4 = 0, array(named_struct('key', 'n', 'value', encode(cast(id as string), 'utf-8'))), null) headers",
    )
    assert isinstance(frame.schema["value"].dataType, BinaryType)
    write(frame)
    rows = read(spark, one, two)
    assert Counter(row.topic for row in rows) == {one: 150, two: 150}
    by_value = {int(row.value): row for row in rows if row.value is not None}
    assert sorted(by_value) == [number for number in range(300) if number % 5]
    for number, row in by_value.items():
        assert row.topic == (one if number % 2 == 0 else two)
        assert row.key == (None if number % 3 == 0 else str(number).encode())
        assert (row.headers or []) == ([("n", str(number).encode())] if number % 4 == 0 else [])
        if number % 7 == 0:
            assert row.partition == 1
        elif number % 3:
            assert row.partition == partition_for_key(str(number).encode(), 3 if number % 2 == 0 else 2)


def test_a_batch_without_a_mode_is_appended_and_overwrite_is_refused(spark: Any, topic: Topic) -> None:
    """As with the connector, whose standard example has no mode."""
    name = topic()
    frame = spark.range(3).selectExpr("cast(id as string) value")
    for _ in range(2):
        frame.write.format("barnabas").option("topic", name).save()
    frame.write.save(format="barnabas", topic=name)
    assert len(read(spark, name)) == 9
    for writer in (
        frame.write.format("barnabas").mode("overwrite"),
        frame.write.mode("overwrite").format("barnabas"),
    ):
        with pytest.raises(PySparkException, match="a topic is only appended to"):
            writer.option("topic", name).save()


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_compressed(spark: Any, topic: Topic, compression: str) -> None:
    name = topic()
    frame = spark.range(1000).selectExpr("repeat(cast(id as string), 20) value")
    write(frame, topic=name, **{"kafka.compression.type": compression})
    assert Counter(bytes(row.value) for row in read(spark, name)) == {(b"%d" % n) * 20: 1 for n in range(1000)}


def test_a_named_batch_is_written_once(spark: Any, topic: Topic, node: RunningNode) -> None:
    name = topic(partitions=2)
    frame = spark.range(0, 100, 1, 2).selectExpr("cast(id as string) value")
    for batch in (0, 0, 1, 0, 1):
        write(frame, topic=name, delivery="exactly-once", queryId=f"named-{name}", batchId=batch)
    assert Counter(bytes(row.value) for row in read(spark, name)) == {b"%d" % number: 2 for number in range(100)}
    assert open_transactions_at(node.bootstrap) == []


def test_a_batch_that_fails_leaves_nothing(spark: Any, topic: Topic, node: RunningNode) -> None:
    """One task writes; the other waits until something of it lies in the topic, and fails."""
    name, bootstrap = topic(partitions=2), node.bootstrap

    def spoil_the_second_half(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch["number"][0].as_py() >= 10_000:
                with Admin(bootstrap) as admin:
                    while not any(each.end_offset for each in admin.describe_topic(name).partitions):
                        time.sleep(0.02)
                raise ValueError("spoilt")
            yield batch

    numbers = spark.range(0, 20_000, 1, 2).selectExpr("id number", "repeat(cast(id as string), 50) value")
    frame = numbers.mapInArrow(spoil_the_second_half, numbers.schema).select("value")
    with pytest.raises(PySparkException, match="spoilt"):
        write(frame, topic=name, delivery="exactly-once", **{"kafka.batch.size": "1000"})
    assert records(node.bootstrap, name, level="read_uncommitted", partitions=2), "the rows before it were written"
    assert open_transactions_at(node.bootstrap) == []
    assert read(spark, name) == []


@pytest.mark.parametrize(
    ("columns", "options", "line"),
    [
        ("id value", {}, "column 'value' is string or binary, not bigint: cast it"),
        ("cast(id as string) value", {"topic": None}, "say where to write"),
        ("cast(id as string) value", {"delivery": "maybe"}, "delivery is exactly-once or at-least-once"),
        ("cast(id as string) value, 5 partition", {}, "a row names partition 5, but topic"),
    ],
)
def test_mistakes_are_one_line(spark: Any, topic: Topic, columns: str, options: dict[str, Any], line: str) -> None:
    given = {name: value for name, value in {"topic": topic(), **options}.items() if value is not None}
    with pytest.raises(PySparkException) as refused:
        write(spark.range(1).selectExpr(*columns.split(", ")), **given)
    assert line in told(refused.value)


def start_copy(spark: Any, source: str, sink: str, checkpoint: Path, **options: Any) -> Any:
    return (
        spark.readStream.format("barnabas")
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 200)
        .load()
        .selectExpr("key", "value", f"'{sink}' topic")
        .writeStream.format("barnabas")
        .options(**options)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )


def test_a_stream_is_exactly_once_by_itself(spark: Any, topic: Topic, node: RunningNode, tmp_path: Path) -> None:
    """Micro-batches follow each other; then Spark forgets the last one, as if its driver had died before noting it."""
    source, sink = topic(partitions=2), topic(partitions=3)
    write(spark.range(0, 500, 1, 2).selectExpr("cast(id as string) key", "cast(id as string) value"), topic=source)
    query = start_copy(spark, source, sink, tmp_path / "checkpoint")
    assert query.awaitTermination(300)
    assert len(query.recentProgress) >= 3
    expected = {b"%d" % number: 1 for number in range(500)}
    assert Counter(bytes(row.value) for row in read(spark, sink)) == expected
    before = len(records(node.bootstrap, sink, level="read_uncommitted", partitions=3))

    last = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    repeated = start_copy(spark, source, sink, tmp_path / "checkpoint")
    assert repeated.awaitTermination(300)
    assert repeated.recentProgress[0]["batchId"] == int(last.name), "it was repeated"
    assert Counter(bytes(row.value) for row in read(spark, sink)) == expected
    assert len(records(node.bootstrap, sink, level="read_uncommitted", partitions=3)) == before, "not even tried"
    assert open_transactions_at(node.bootstrap) == []


def test_an_aggregation_in_update_mode_is_exactly_once(
    quick_spark: Any, topic: Topic, node: RunningNode, tmp_path: Path
) -> None:
    source, sink = topic(), topic()
    checkpoint = tmp_path / "checkpoint"
    write(quick_spark.range(0, 100, 1, 1).selectExpr("cast(id % 3 as string) value"), topic=source)

    def count() -> Any:
        lines = quick_spark.readStream.format("barnabas").option("subscribe", source)
        lines = lines.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 60).load()
        totals = lines.groupBy("value").count().selectExpr("value key", "cast(count as string) value")
        query = (
            totals.writeStream.outputMode("update")
            .foreachBatch(lambda rows, number: exactly_once(rows, sink))
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(300)
        return query

    count()
    told = [(bytes(row.key), bytes(row.value)) for row in read(quick_spark, sink)]
    assert len(told) == 6 and dict(told) == {b"0": b"34", b"1": b"33", b"2": b"33"}
    (checkpoint / "commits" / "1").unlink()  # as if the driver had died before it was noted
    (checkpoint / "commits" / ".1.crc").unlink(missing_ok=True)
    assert count().recentProgress[0]["batchId"] == 1, "it was repeated"
    assert [(bytes(row.key), bytes(row.value)) for row in read(quick_spark, sink)] == told
    with pytest.raises(PipelineError, match="belongs inside foreachBatch"):
        exactly_once(quick_spark.range(1).selectExpr("cast(id as string) value"), sink)


def test_a_stream_may_be_at_least_once(spark: Any, topic: Topic, node: RunningNode, tmp_path: Path) -> None:
    source, sink = topic(partitions=1), topic(partitions=1)
    write(spark.range(100).selectExpr("cast(id as string) value"), topic=source)
    assert start_copy(spark, source, sink, tmp_path / "checkpoint", delivery="at-least-once").awaitTermination(300)
    assert len(read(spark, sink)) == 100
    shutil.rmtree(tmp_path / "checkpoint")
    assert start_copy(spark, source, sink, tmp_path / "checkpoint", delivery="at-least-once").awaitTermination(300)
    assert len(read(spark, sink)) == 200, "a new checkpoint is a new query"


def test_a_stream_that_is_stopped_leaves_nothing_open(
    spark: Any, topic: Topic, node: RunningNode, tmp_path: Path
) -> None:
    """Stopped in the middle of a micro-batch, when its tasks do not know yet that they are to die."""
    sink = topic(partitions=2)
    query = (
        spark.readStream.format("rate")
        .option("rowsPerSecond", 20_000)
        .load()
        .selectExpr("cast(value as string) value")
        .writeStream.format("barnabas")
        .option("topic", sink)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    deadline = time.monotonic() + 120
    while not open_transactions_now(node.bootstrap, query.id) or not query.recentProgress:
        assert query.isActive and time.monotonic() < deadline, query.exception()
        time.sleep(0.01)
    query.stop()
    assert open_transactions_at(node.bootstrap) == []
    committed = sum(each["numInputRows"] for each in query.recentProgress)
    rows = [int(row.value) for row in read(spark, sink)]
    assert len(rows) == len(set(rows)) >= committed
