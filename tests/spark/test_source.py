"""Reading topics with `format("barnabas")` in batches, beside Spark's own connector on the same topics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pyspark
import pytest

from barnabas import Admin, Producer
from barnabas.testing import RunningNode

Topic = Callable[..., str]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def read(spark: Any, form: str = "barnabas", **options: Any) -> Any:
    return spark.read.format(form).options(**options).load()


def rows_of(frame: Any) -> list[Any]:
    return sorted(frame.collect(), key=lambda row: (row.topic, row.partition, row.offset))


@pytest.fixture(scope="module")
def mixed(node: RunningNode, admin: Admin) -> str:
    """Every codec, keys and values that are null or empty, headers, long and short records, over three partitions."""
    name = "mixed"
    admin.create_topic(name, partitions=3)
    codecs: list[Any] = list(CODECS)
    for at, codec in enumerate(codecs):
        with Producer(node.bootstrap, compression=codec, linger_ms=20) as producer:
            for number in range(300):
                key = None if number % 7 == 0 else f"k{number}" if number % 5 else ""
                value = None if number % 11 == 0 else f"{codec}-{number}" * (number % 40) if number % 3 else ""
                headers = [("trace", b"%d" % number), ("none", None)] if number % 4 == 0 else None
                stamp = 1_700_000_000_000 + at
                producer.send(name, value, key, headers, partition=number % 3, timestamp_ms=stamp)
    return name


def test_the_columns_and_rows_are_those_of_the_connector(
    spark: Any, node: RunningNode, mixed: str, has_connector: bool
) -> None:
    options = {"kafka.bootstrap.servers": node.bootstrap, "subscribe": mixed, "includeHeaders": "true"}
    ours = read(spark, **options)
    assert ours.columns == ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
    found = rows_of(ours)
    assert len(found) == 1500
    if not has_connector:
        pytest.skip("Spark's own connector cannot be had here")
    theirs = read(spark, "kafka", **options)
    assert theirs.schema.simpleString() == ours.schema.simpleString()
    assert found == rows_of(theirs)


def test_offsets_by_partition_and_by_time(spark: Any, node: RunningNode, topic: Topic) -> None:
    name = topic(partitions=2)
    with Producer(node.bootstrap) as producer:
        for number in range(20):
            producer.send(name, value=str(number), partition=number % 2, timestamp_ms=1_700_000_000_000 + 1000 * number)
    places = read(
        spark,
        subscribe=name,
        startingOffsets=f'{{"{name}": {{"0": 3, "1": -2}}}}',
        endingOffsets=f'{{"{name}": {{"0": -1, "1": 4}}}}',
    )
    assert [(row.partition, row.offset) for row in rows_of(places)] == [(0, at) for at in range(3, 10)] + [
        (1, at) for at in range(4)
    ]
    times = read(spark, subscribe=name, startingTimestamp="1700000005000", endingTimestamp="1700000009000")
    assert sorted(int(bytes(row.value)) for row in times.collect()) == [5, 6, 7, 8]
    one = read(spark, assign=f'{{"{name}": [1]}}', startingOffsetsByTimestamp=f'{{"{name}": {{"1": 1700000015000}}}}')
    assert [int(bytes(row.value)) for row in rows_of(one)] == [15, 17, 19]


def test_topics_by_pattern_and_an_empty_topic(spark: Any, node: RunningNode, topic: Topic) -> None:
    first, second = topic(partitions=2), topic()
    with Producer(node.bootstrap) as producer:
        producer.send(second, value="only")
    stem = first.rpartition("-")[0]
    assert [row.topic for row in read(spark, subscribePattern=f"{stem}-.*").collect()] == [second]
    assert read(spark, subscribe=first).count() == 0


def test_transactions_show_what_was_committed(spark: Any, node: RunningNode, topic: Topic, has_connector: bool) -> None:
    name = topic()
    with Producer(node.bootstrap, transactional_id=f"tx-{name}") as producer:
        for kind in ("kept", "dropped", "kept-again"):
            try:
                with producer.transaction():
                    for number in range(50):
                        producer.send(name, value=f"{kind}-{number}")
                    producer.flush()  # what was never sent would not be there to be taken back
                    if kind == "dropped":
                        raise InterruptedError
            except InterruptedError:
                pass
    options = {"kafka.bootstrap.servers": node.bootstrap, "subscribe": name}
    committed = rows_of(read(spark, **options))
    assert [bytes(row.value).decode().rpartition("-")[0] for row in committed] == ["kept"] * 50 + ["kept-again"] * 50
    everything = read(spark, **options, **{"kafka.isolation.level": "read_uncommitted"})
    assert everything.count() == 150
    if has_connector:
        theirs = read(spark, "kafka", **options, **{"kafka.isolation.level": "read_committed"})
        assert committed == rows_of(theirs)


def test_a_compacted_topic_with_gaps(spark: Any, node: RunningNode, admin: Admin, topic: Topic) -> None:
    configs = {
        "cleanup.policy": "compact",
        "segment.bytes": 1048576,
        "min.cleanable.dirty.ratio": 0.01,
        "min.compaction.lag.ms": 0,
        "max.compaction.lag.ms": 1,
    }
    name = topic(configs=configs)
    with Producer(node.bootstrap, linger_ms=0) as producer:
        for number in range(1500):
            producer.send(name, key=f"k{number % 10}", value=f"v{number}-" + "x" * 2000)
            if number % 100 == 99:
                producer.flush()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = rows_of(read(spark, subscribe=name, minPartitions="4"))
        if len(found) < 1500:
            break
        time.sleep(0.5)
    else:
        pytest.fail("the node did not compact the topic in 20 s")
    newest = {bytes(row.key).decode(): bytes(row.value).decode().partition("-")[0] for row in found}
    assert newest == {f"k{digit}": f"v{1490 + digit}" for digit in range(10)}
    offsets = [row.offset for row in found]
    assert offsets == sorted(set(offsets)) and offsets[-1] == 1499


def test_filters_are_done_before_spark_sees_the_rows(spark: Any, mixed: str) -> None:
    frame = read(spark, subscribe=mixed)
    everything = rows_of(frame)
    middle = datetime.fromtimestamp(1_700_000_000.002, UTC)
    conditions: dict[str, Callable[[Any], bool]] = {
        "partition = 1 and offset >= 20 and offset < 30": lambda row: row.partition == 1 and 20 <= row.offset < 30,
        "partition in (0, 2) and offset <> 7": lambda row: row.partition != 1 and row.offset != 7,
        f"timestamp > '{middle:%Y-%m-%dT%H:%M:%S.%f}Z'": lambda row: row.timestamp.replace(tzinfo=UTC) > middle,
        f"timestamp <= '{middle:%Y-%m-%dT%H:%M:%S.%f}Z'": lambda row: row.timestamp.replace(tzinfo=UTC) <= middle,
        f"topic = '{mixed}x'": lambda row: False,
    }
    for condition, holds in conditions.items():
        filtered = frame.where(condition)
        assert rows_of(filtered) == [row for row in everything if holds(row)], condition
        assert "Filter (" not in filtered._jdf.queryExecution().executedPlan().toString(), condition


def test_splits_use_every_core(spark: Any, node: RunningNode, topic: Topic) -> None:
    name = topic()
    with Producer(node.bootstrap, linger_ms=50) as producer:
        for number in range(50_000):
            producer.send(name, value=b"%d" % number)
    assert read(spark, subscribe=name).rdd.getNumPartitions() == 2  # local[2]
    assert read(spark, subscribe=name, minPartitions="1").rdd.getNumPartitions() == 1
    seven = read(spark, subscribe=name, minPartitions="7")
    assert seven.rdd.getNumPartitions() == 7
    assert [int(bytes(row.value)) for row in rows_of(seven)] == list(range(50_000))


def test_deleted_records_are_an_error_or_skipped(spark: Any, node: RunningNode, admin: Admin, topic: Topic) -> None:
    name = topic()
    with Producer(node.bootstrap) as producer:
        for number in range(100):
            producer.send(name, value=str(number))
    admin.delete_records(name, 60)
    wanted = {"subscribe": name, "startingOffsets": f'{{"{name}": {{"0": 10}}}}'}
    with pytest.raises(Exception, match=r"data was lost: .* does not hold offset 10 any more, it begins at 60"):
        read(spark, **wanted).count()
    left = read(spark, failOnDataLoss="false", **wanted)
    assert [int(bytes(row.value)) for row in rows_of(left)] == list(range(60, 100))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"subscribe": "nowhere"}, "there is no topic nowhere at"),
        ({"subscribe": "mixed", "startingOffset": "latest"}, "did you mean startingOffsets"),
    ],
)
def test_mistakes_are_told_in_a_line(spark: Any, mixed: str, options: dict[str, str], told: str) -> None:
    """And it is the first line that Spark shows."""
    with pytest.raises(Exception, match=told) as refused:
        read(spark, **options).count()
    assert told in str(refused.value).strip().splitlines()[0]


def test_offsets_beyond_the_end_are_lost_data(spark: Any, node: RunningNode, topic: Topic) -> None:
    """Known when the query is planned: nothing is read and nothing waited for."""
    name = topic(partitions=2)
    with Producer(node.bootstrap) as producer:
        for number in range(10):
            producer.send(name, value=str(number), partition=number % 2)
    beyond, within = f'{{"{name}": {{"0": 99, "1": 0}}}}', f'{{"{name}": {{"0": 5, "1": 5}}}}'
    for option in ("startingOffsets", "endingOffsets"):
        with pytest.raises(Exception, match=f"data was lost: {option} names offset 99 of {name}-0, which ends at 5"):
            read(spark, subscribe=name, **{option: beyond}).count()
    assert read(spark, subscribe=name, failOnDataLoss="false", startingOffsets=beyond).count() == 5
    assert read(spark, subscribe=name, endingOffsets=within).count() == 10


def test_a_table_keeps_no_options_and_a_view_does(spark: Any, mixed: str) -> None:
    with pytest.raises(Exception, match="CREATE TEMPORARY VIEW") as refused:
        spark.sql(f"CREATE TABLE lost USING barnabas OPTIONS (subscribe '{mixed}')")
    assert "CREATE TEMPORARY VIEW" in str(refused.value).strip().splitlines()[0]
    spark.sql(f"CREATE TEMPORARY VIEW kept USING barnabas OPTIONS (subscribe '{mixed}')")
    assert spark.table("kept").count() == read(spark, subscribe=mixed).count()


def test_python_processes_import_the_installed_pyspark(spark: Any) -> None:
    """Not Spark's zip of it, which has no compiled modules and triples the time that such a process takes to start."""

    def where(_: Any) -> Iterator[str]:
        import pyspark

        yield pyspark.__file__

    [found] = spark.sparkContext.parallelize([1], 1).mapPartitions(where).collect()
    assert found == pyspark.__file__
