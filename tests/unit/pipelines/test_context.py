"""What a pipeline is given: which options its reads and writes have, and when its queries start."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any  # a session that is not Spark's

import pytest

from barnabas.pipelines import lake
from barnabas.pipelines.common.upserts import query_id
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.exactly_once import exactly_once
from barnabas.pipelines.framework.checkpoints import LocalCheckpoints
from barnabas.pipelines.framework.context import DEAD_LETTERS, RunContext
from barnabas.pipelines.framework.pipeline import Option, Pipeline, Topic
from barnabas.pipelines.lake import Lake
from barnabas.testing import RunningNode, running_node
from tests.linked_clusters.pair import create, produce
from tests.unit.pipelines.recorded_spark import RecordedSpark, with_metadata


class Orders(Pipeline):
    name = "orders"
    reads = (Topic("orders", schema="id STRING NOT NULL, time TIMESTAMP"), Topic("rates", schema=None))
    writes = (Topic("totals"),)
    options = (Option("every", "5 seconds", "how often"),)


def context_of(folder: Path, pipeline: Pipeline | None = None, **more: Any) -> RunContext:
    return RunContext(pipeline or Orders(), RecordedSpark(), "here:9092", folder, **more)  # type: ignore[arg-type]


def spark_of(context: RunContext) -> RecordedSpark:
    spark: object = context.spark
    assert isinstance(spark, RecordedSpark)
    return spark


def test_a_stream_reads_from_the_beginning_and_shows_its_lag_as_a_group(tmp_path: Path) -> None:
    context = context_of(tmp_path, topics={"orders": "mine"}, source={"kafka.security.protocol": "SSL"})
    frame: Any = context.raw_stream("orders", maxPartitions="1")
    assert frame.source == "barnabas"
    assert frame.given == {
        "kafka.bootstrap.servers": "here:9092",
        "subscribe": "mine",
        "kafka.group.id": "orders",
        "kafka.security.protocol": "SSL",
        "startingOffsets": "earliest",
        "maxPartitions": "1",
    }
    context.raw_stream("orders", **{"kafka.group.id": f"orders.{DEAD_LETTERS}"})
    context.raw_stream("totals", **{"kafka.group.id": "orders.again"})
    assert context.groups() == {"orders": {"mine"}}  # not at leisure, and of its own topics


def test_a_batch_reads_a_little_earlier_than_it_was_asked(tmp_path: Path) -> None:
    whole: Any = context_of(tmp_path).raw_batch("orders")
    assert "startingTimestamp" not in whole.given
    part: Any = context_of(tmp_path, begin_ms=1_000_000).raw_batch("orders", earlier_ms=100_000)
    assert part.given["startingTimestamp"] == str(1_000_000 - 100_000 - 60_000)
    assert part.given["startingOffsetsByTimestampStrategy"] == "latest"
    early: Any = context_of(tmp_path, begin_ms=5).raw_batch("orders")
    assert early.given["startingTimestamp"] == "0"


def test_options_topics_and_schemas_are_found_by_their_names(tmp_path: Path) -> None:
    context = context_of(tmp_path, topics={"orders": "mine"}, options={"every": "1 second"})
    assert context.option("every") == "1 second" and context_of(tmp_path).option("every") == "5 seconds"
    assert context.topic("orders.dead-letter") == "mine.dead-letter"
    assert context.expected("orders").ddl.startswith("id STRING")
    with pytest.raises(PipelineError, match="has no option 'evry'"):
        context.option("evry")
    with pytest.raises(PipelineError, match="reads no topic 'rates' with a schema"):
        context.expected("rates")
    assert context.path("tables", "a").parent.is_dir()
    assert context.spark_ui() is None
    spark_of(context).ui = "http://here:4040"
    assert context.spark_ui() == "http://here:4040"


@pytest.mark.parametrize(
    ("once", "every", "trigger"),
    [
        (False, None, {}),
        (False, "5 seconds", {"processingTime": "5 seconds"}),
        (True, "5 seconds", {"availableNow": True}),
    ],
)
def test_a_query_has_a_name_a_checkpoint_and_a_trigger(
    tmp_path: Path, once: bool, every: str | None, trigger: dict[str, Any]
) -> None:
    source = {"registry": "http://r", "kafka.security.protocol": "SSL"}
    context = context_of(tmp_path, once=once, topics={"totals": "sums"}, source=source)
    context.shuffles["sums"] = 7
    frame: Any = context.raw_stream("orders")
    query: Any = context.to_topic(frame, "totals", "sums", every, mode="update")
    writer = query.writer
    assert (writer.name, writer.mode, writer.trigger_given) == ("orders.sums", "update", trigger)
    assert writer.checkpoint == str(tmp_path / "checkpoints" / "sums")
    assert writer.given["topic"] == "sums" and "registry" not in writer.given
    assert writer.given["kafka.security.protocol"] == "SSL"
    assert query.shuffles == "7" and spark_of(context).conf.get("spark.sql.shuffle.partitions") == "2"
    assert context.queries == {"sums": query}


# --- writes that are named ------------------------------------------------------------------------------------------


def test_the_id_of_a_query_is_in_its_checkpoint(tmp_path: Path) -> None:
    with_metadata(tmp_path / "checkpoints" / "sums", "c3f1")
    assert query_id(LocalCheckpoints(tmp_path / "checkpoints"), "sums") == "c3f1"


def rows_of(properties: dict[str, str], saved: list[dict[str, Any]]) -> Any:
    from pyspark.sql.types import StructType

    class Writer:
        def __init__(self) -> None:
            self.given: dict[str, Any] = {}

        def format(self, source: str) -> Writer:
            self.given["format"] = source
            return self

        def mode(self, mode: str) -> Writer:
            self.given["mode"] = mode
            return self

        def options(self, **given: Any) -> Writer:
            self.given |= given
            return self

        def save(self) -> None:
            saved.append(self.given)

    context = SimpleNamespace(getLocalProperty=properties.get)
    return SimpleNamespace(
        sparkSession=SimpleNamespace(sparkContext=context),
        schema=StructType().add("value", "string"),
        write=Writer(),
    )


def test_exactly_once_names_a_write_after_its_query_its_topic_and_its_batch() -> None:
    saved: list[dict[str, Any]] = []
    properties = {"sql.streaming.queryId": "q-1", "streaming.sql.batchId": "7"}
    for topic in ("totals", "totals", "others"):
        exactly_once(rows_of(properties, saved), topic, bootstrap="here:9092")
    first, again, other = saved
    assert first == again and first["queryId"] != other["queryId"]
    assert first["queryId"].startswith("q-1.") and first["batchId"] == "7"
    assert (first["format"], first["delivery"], first["topic"]) == ("barnabas", "exactly-once", "totals")
    with pytest.raises(PipelineError, match="belongs inside foreachBatch"):
        exactly_once(rows_of({}, saved), "totals", bootstrap="here:9092")


# --- the lake -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        create(running.bootstrap, "events", 2)
        produce(running.bootstrap, "events", [f"v{number}" for number in range(20)])
        yield running


def lake_of(node: RunningNode, folder: Path, **more: Any) -> RunContext:
    spark: Any = RecordedSpark()
    return RunContext(Lake(), spark, node.bootstrap, folder, topics={lake.generator.TOPIC: "events"}, **more)


def test_a_range_of_the_log_is_read_by_its_offsets(node: RunningNode, tmp_path: Path) -> None:
    context = lake_of(node, tmp_path, options={"offsets": "0:2-5,1:0-1000"})
    log = lake.bounds(context, "events")
    assert sorted(log) == [0, 1] and sum(end for _, end in log.values()) == 20
    wanted = lake.range_of(context)
    frame: Any = lake.reader(context, wanted, log)()
    assert frame.source == "barnabas" and json.loads(frame.given["assign"]) == {"events": [0, 1]}
    assert json.loads(frame.given["startingOffsets"]) == {"events": {"0": 2, "1": 0}}
    assert json.loads(frame.given["endingOffsets"]) == {"events": {"0": 5, "1": log[1][1]}}  # no further than it goes
    by_time = lake_of(node, tmp_path, begin_ms=5_000_000)
    read: Any = lake.reader(by_time, lake.range_of(by_time), log)()
    assert read.given["includeHeaders"] == "true" and "startingTimestamp" in read.given


def test_a_range_has_to_be_said_and_a_table_has_to_be_there(node: RunningNode, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="say which range to load again"):
        lake.range_of(lake_of(node, tmp_path))
    with pytest.raises(PipelineError, match=r"there is no table in .*First run: barnabas pipeline run lake --now"):
        Lake().later(lake_of(node, tmp_path, begin_ms=5_000_000))
