"""The options of a read: the connector's names and meaning, and one clear line for each mistake."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.bounds import EARLIEST, LATEST, Bound, offsets_from_json, offsets_to_json
from barnabas.pipelines.source.options import APP_VARIABLE, SourceOptions, parse_options
from barnabas.pipelines.source.security import is_spoken_here, librdkafka_settings_of
from barnabas.pipelines.source.values.ddl import refuse_unknown_types


def parsed(streaming: bool = False, **options: str) -> SourceOptions:
    named = {name.replace("__", "."): value for name, value in options.items()}
    return parse_options({"subscribe": "t", "kafka.bootstrap.servers": "h:1"} | named, streaming=streaming)


def test_defaults_are_those_of_the_connector_but_for_committed_records() -> None:
    batch, stream = parsed(), parsed(streaming=True)
    assert (batch.starting.word, batch.ending.word) == (EARLIEST, LATEST)
    assert stream.starting.word == LATEST
    assert batch.fail_on_data_loss and batch.read_committed and not batch.include_headers
    assert batch.bootstrap == "h:1" and batch.topics == ("t",)
    assert not parsed(kafka__isolation__level="read_uncommitted").read_committed


def test_names_are_taken_in_any_case() -> None:
    found = parse_options({"SUBSCRIBE": "a, b,a", "startingOFFSETS": "latest"}, streaming=True)
    assert found.topics == ("a", "b") and found.starting.word == LATEST


def test_places_and_times() -> None:
    assert parsed(startingOffsets='{"t": {"0": 5, "1": -2}}').starting == Bound(offsets={("t", 0): 5, ("t", 1): -2})
    assert parsed(endingTimestamp="12").ending == Bound(timestamp=12)
    assert parsed(startingOffsetsByTimestamp='{"t": {"0": 7}}').starting == Bound(timestamps={("t", 0): 7})
    both = parsed(startingTimestamp="1", startingOffsets="earliest")
    assert both.starting == Bound(timestamp=1)  # the connector's order: a time comes first
    assert offsets_from_json(offsets_to_json({("t", 11): 5, ("u", 0): 0})) == {("t", 11): 5, ("u", 0): 0}


def test_the_group_is_named_after_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(APP_VARIABLE, "orders")
    assert parsed().group == "spark-orders"
    assert parsed(groupIdPrefix="team").group == "team-orders"
    assert parsed(kafka__group__id="mine").group == "mine"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"startingOffsetz": "latest"}, "no option 'startingoffsetz': did you mean startingOffsets?"),
        ({"kafka.bootstrap.server": "h:1"}, "kafka.bootstrap.server: did you mean kafka.bootstrap.servers?"),
        ({"assign": "{}"}, "not subscribe and assign together"),
        ({"startingOffsets": "latest"}, "cannot be latest for a batch"),
        ({"startingOffsets": '{"t": {"0": -1}}'}, "cannot be latest for a batch"),
        ({"endingOffsets": "earliest"}, "endingOffsets cannot be earliest"),
        ({"startingOffsets": "yesterday"}, "startingOffsets is earliest, latest, or JSON such as"),
        ({"startingOffsets": '{"t": 5}'}, 'JSON such as {"orders": {"0": 23}}'),
        ({"startingOffsets": '{"t": {"0": "5"}}'}, "an offset is wanted"),
        ({"startingOffsets": "[]"}, "a JSON object by topic"),
        ({"startingTimestamp": "noon"}, "a time in milliseconds since 1970"),
        ({"minPartitions": "0"}, "minPartitions is a whole number above 0"),
        ({"failOnDataLoss": "yes"}, "failOnDataLoss is true or false"),
        ({"kafka__isolation__level": "dirty"}, "read_committed or read_uncommitted"),
        ({"kafka__auto__offset__reset": "latest"}, "kafka.auto.offset.reset cannot be set: say where to start"),
        ({"kafka__group__id": ""}, "kafka.group.id is empty"),
        ({"maxTriggerDelay": "soon"}, "a time such as 30s or 15m"),
        ({"valueSchema": "a INT"}, "valueSchema needs valueFormat"),
        ({"valueFormat": "xml"}, "valueFormat is json, avro, protobuf, json-schema, not 'xml'"),
        ({"valueFormat": "avro"}, "valueFormat avro needs valueSchema"),
        ({"valueFormat": "avro", "valueSchema": "/no/such.avsc"}, "cannot read /no/such.avsc: no such file"),
        ({"valueFormat": "protobuf", "valueSchema": "/no"}, "needs valueMessage"),
        ({"valueFormat": "json", "valueMode": "KIND"}, "valueMode is PERMISSIVE"),
    ],
)
def test_mistakes_are_told_in_a_line(options: dict[str, Any], told: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parsed(**options)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_nothing_to_read_and_a_stream_with_an_end() -> None:
    with pytest.raises(PipelineError, match="none is given"):
        parse_options({}, streaming=False)
    with pytest.raises(PipelineError, match="endingOffsets is for a batch"):
        parsed(streaming=True, endingOffsets="latest")
    with pytest.raises(PipelineError, match="is not a pattern"):
        parse_options({"subscribePattern": "("}, streaming=False)


PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def test_logins_of_java_are_understood() -> None:
    client = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{PLAIN_MODULE} required username="u" password="p w";',
        "ssl.truststore.location": "/ca.pem",
        "max.poll.records": "5",
    }
    settings = librdkafka_settings_of(client)
    assert settings == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "u",
        "sasl.password": "p w",
        "ssl.ca.location": "/ca.pem",
    }
    assert is_spoken_here({}) and is_spoken_here(settings)
    assert not is_spoken_here(settings | {"sasl.mechanism": "OAUTHBEARER"})
    assert not is_spoken_here({"security.protocol": "SSL", "ssl.key.pem": "..."})
    with pytest.raises(PipelineError, match="a JKS store, which only Java reads"):
        librdkafka_settings_of({"ssl.truststore.location": "/ca.jks"})
    with pytest.raises(PipelineError, match=r"kafka\.sasl\.jaas\.config: .*OAuthBearerLoginModule is not served"):
        librdkafka_settings_of({"sasl.jaas.config": "a.b.OAuthBearerLoginModule required;"})


def test_a_schema_file_is_read_where_the_query_is_made(tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text('{"type": "record", "name": "o", "fields": []}')
    found = parsed(valueFormat="avro", valueSchema=str(path)).value
    assert found is not None and found.schema == path.read_text()


def test_what_is_wrong_for_batch_and_stream_alike_is_known_before_either() -> None:
    """Spark asks for the columns when a read is defined, and does not say which of the two it becomes."""
    for options in ({"startingOffsets": "latest"}, {"endingOffsets": "latest"}, {"maxOffsetsPerTrigger": "9"}):
        parse_options({"subscribe": "t", **options}, streaming=None)
    for options in ({"startingOffsets": "erliest"}, {"minPartitions": "x"}, {"subcribe": "u"}):
        with pytest.raises(PipelineError):
            parse_options({"subscribe": "t", **options}, streaming=None)


@pytest.mark.parametrize(
    ("ddl", "told"),
    [
        ("user STRNG", "'user STRNG' has no type that Spark knows: did you mean STRING?"),
        ("user", "'user' is no column"),
        ("user STRING, ", "'' is no column"),
    ],
)
def test_a_schema_that_spark_would_not_read(ddl: str, told: str) -> None:
    with pytest.raises(PipelineError, match=re.escape(told)):
        refuse_unknown_types(ddl)


def test_schemas_that_are_left_to_spark() -> None:
    for ddl in (
        "`a b`: INT, s STRUCT<x INT, y: ARRAY<STRING>> NOT NULL",
        "d DECIMAL(12,4) COMMENT 'x, y'",
        "p polygon",
    ):
        refuse_unknown_types(ddl)
