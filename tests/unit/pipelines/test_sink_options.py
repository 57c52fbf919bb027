"""Options and columns of a write: what is taken, and the one line for what is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.columns import check_schema, headers_of, rows_of
from barnabas.pipelines.sink.options import parse_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def test_a_stream_is_exactly_once_and_a_batch_at_least_once() -> None:
    assert parse_options({}, streaming=True).exactly_once
    assert not parse_options({}, streaming=False).exactly_once
    assert not parse_options({"delivery": "at-least-once"}, streaming=True).exactly_once


PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_java_settings_are_understood() -> None:
    options = parse_options(
        {
            "kafka.bootstrap.servers": "one:9092,two:9092",
            "kafka.compression.type": "lz4",
            "kafka.batch.size": "5000",
            "kafka.delivery.timeout.ms": "7000",
            "kafka.transaction.timeout.ms": "90000",
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": f'{PLAIN_MODULE} required username="u" password="p";',
            "topic": "there",
        },
        streaming=True,
    )
    assert (options.bootstrap, options.topic, options.compression) == ("one:9092,two:9092", "there", 3)
    assert (options.batch_bytes, options.delivery_timeout_s, options.transaction_timeout_ms) == (5000, 7.0, 90_000)
    assert dict(options.security)["sasl.username"] == "u"
    assert "bootstrap.servers" not in dict(options.security)


@pytest.mark.parametrize(
    ("given", "streaming", "told"),
    [
        ({"kafka.compresion.type": "lz4"}, True, "kafka.compresion.type: did you mean kafka.compression.type"),
        ({"tpoic": "x"}, True, "has no option 'tpoic' for writing: did you mean topic"),
        ({"delivery": "twice"}, True, "delivery is exactly-once or at-least-once, not 'twice'"),
        ({"kafka.acks": "1"}, True, "kafka.acks is all for this sink"),
        ({"kafka.transactional.id": "mine"}, True, "kafka.transactional.id cannot be set"),
        ({"kafka.key.serializer": "x"}, True, "keys are bytes or strings"),
        ({"kafka.compression.type": "rar"}, True, "none, gzip, snappy, lz4, zstd"),
        ({"kafka.batch.size": "many"}, True, "batch.size is a whole number from 1 on, not 'many'"),
        ({"queryId": "a"}, True, "queryId is for a batch"),
        ({"queryId": "a"}, False, "queryId needs delivery=exactly-once"),
        ({"queryId": "a/b", "delivery": "exactly-once"}, False, "queryId is 1 to 120 letters"),
        ({"batchId": "3"}, False, "batchId needs queryId"),
        ({"failOnDataLoss": "maybe"}, True, "failOnDataLoss is true or false"),
    ],
)
def test_refused_with_one_line(given: dict[str, str], streaming: bool, told: str) -> None:
    with pytest.raises(PipelineError) as refused:
        parse_options(given, streaming=streaming)
    assert told in str(refused.value)
    assert "\n" not in str(refused.value)


class _Field:
    def __init__(self, name: str, kind: str) -> None:
        self.name, self.dataType = name, self
        self._kind = kind

    def simpleString(self) -> str:
        return self._kind


def _schema(**kinds: str) -> StructType:
    return cast("StructType", SimpleNamespace(fields=[_Field(name, kind) for name, kind in kinds.items()]))


def test_the_connectors_columns_are_taken() -> None:
    headers = "array<struct<key:string,value:binary>>"
    check_schema(_schema(key="binary", value="string", topic="string", partition="int", headers=headers), None)
    check_schema(_schema(value="binary"), "t")


@pytest.mark.parametrize(
    ("kinds", "topic", "told"),
    [
        ({"key": "string"}, "t", "needs a column 'value'"),
        ({"value": "bigint"}, "t", "column 'value' is string or binary, not bigint"),
        ({"value": "string"}, None, 'option("topic", "name")'),
        ({"value": "string", "offset": "bigint"}, "t", "column 'offset' means nothing to a topic"),
        ({"value": "string", "partition": "bigint"}, "t", "column 'partition' is int"),
    ],
)
def test_other_columns_are_refused(kinds: dict[str, str], topic: str | None, told: str) -> None:
    with pytest.raises(PipelineError, match=r"column|topic") as refused:
        check_schema(_schema(**kinds), topic)
    assert told in str(refused.value)


def test_rows_of_any_kind_of_string() -> None:
    for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        values: list[Any] = ["a", None, "ü"] if kind in (pa.string(), pa.large_string()) else [b"a", None, "ü".encode()]
        rows = rows_of(pa.record_batch([pa.array(values, kind)], names=["VALUE"]))
        assert rows.value.to_pylist() == [b"a", None, "ü".encode()]
        assert rows.key is None and rows.topic is None


def test_headers() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    column = pa.array([None, [], [{"key": "a", "value": b"1"}, {"key": "a", "value": None}]], kind)
    assert headers_of(column) == [[], [], [("a", b"1"), ("a", None)]]
    with pytest.raises(PipelineError, match="header without a key"):
        headers_of(pa.array([[{"key": None, "value": b""}]], kind))
