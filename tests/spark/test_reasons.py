"""What a person sees when a stream is asked for something wrong: the reason in the first line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

from barnabas import Producer
from barnabas.pipelines import exactly_once
from barnabas.pipelines.framework.failures import explain
from barnabas.testing import RunningNode

pytestmark = pytest.mark.timeout(900)  # a session on a busy machine takes minutes
Topic = Callable[..., str]


def stream(spark: Any, node: RunningNode, **options: str) -> Any:
    return spark.readStream.format("barnabas").option("kafka.bootstrap.servers", node.bootstrap).options(**options)


def failure(writer: Any, checkpoint: Path) -> StreamingQueryException:
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException) as caught:
        query.awaitTermination(240)
    return caught.value


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"startingOfsets": "latest"}, "did you mean startingOffsets?"),
        ({"maxOffsetsPerTrigger": "ten"}, "maxOffsetsPerTrigger is a whole number above 0, not 'ten'"),
        ({"valueFormat": "json", "valueSchema": "user STRNG"}, "did you mean STRING?"),
    ],
)
def test_a_wrong_option_is_told_when_the_stream_is_defined(
    spark: Any, node: RunningNode, options: dict[str, str], told: str
) -> None:
    with pytest.raises(AnalysisException) as caught:
        stream(spark, node, subscribe="t", **options).load()
    assert told in str(caught.value).splitlines()[0]


def test_what_only_a_stream_cannot_have_is_the_first_line(
    spark: Any, node: RunningNode, topic: Topic, tmp_path: Path
) -> None:
    frame = stream(spark, node, subscribe=topic(), endingOffsets="latest").load()
    error = failure(frame.writeStream.format("noop"), tmp_path)
    assert "endingOffsets is for a batch; a stream has no end" in str(error).splitlines()[0]


def test_a_mistake_inside_foreach_batch_is_one_line_for_a_run(
    spark: Any, node: RunningNode, topic: Topic, tmp_path: Path
) -> None:
    """Spark puts a stack trace around it, which is not ours to change; a pipeline's run shows what `explain` says."""
    name = topic()
    with Producer(node.bootstrap) as producer:
        producer.send(name, "x", key="k")
    frame = stream(spark, node, subscribe=name, startingOffsets="earliest").load().selectExpr("key AS k", "value")
    ours = frame.writeStream.foreachBatch(lambda rows, _: exactly_once(rows, name, bootstrap=node.bootstrap))
    assert explain(failure(ours, tmp_path / "ours")).startswith("column 'k' means nothing to a topic")

    def mistaken(*_: Any) -> None:
        raise ValueError("a mistake of one's own")

    theirs = frame.writeStream.foreachBatch(mistaken)
    assert explain(failure(theirs, tmp_path / "theirs")) == "ValueError: a mistake of one's own"
