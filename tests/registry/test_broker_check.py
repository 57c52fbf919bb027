"""confluent.value.schema.validation with Confluent's own serializers and a registry beside the node."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas.model.errors import ErrorCode
from tests.support.servers import BarnabasNode
from tests.support.wire import PRODUCE, WireClient, batch, produce_body

ORDER = '{"type": "record", "name": "Order", "fields": [{"name": "amount", "type": "int"}]}'
NEWER = (
    '{"type": "record", "name": "Order", "fields": [{"name": "amount", "type": "int"},'
    ' {"name": "note", "type": "string", "default": ""}]}'
)
VALUES = {"confluent.value.schema.validation": "true"}
_numbers = itertools.count(1)


@pytest.fixture
def topic(node: BarnabasNode) -> Callable[..., str]:
    def make(**more: str) -> str:
        name = f"checked-{next(_numbers)}"
        config = VALUES | {key.replace("_", "."): each for key, each in more.items()}
        admin = AdminClient({"bootstrap.servers": node.bootstrap})
        admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result(10)
        return name

    return make


class Sender:
    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0, "enable.idempotence": True})

    def send(self, topic: str, value: bytes | None, headers: Any = None) -> int:
        """The code with which it was refused; 0 when it is stored."""
        told: list[int] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            told.append(0 if error is None else error.code())

        self._producer.produce(topic, value, key=b"k", headers=headers, on_delivery=delivered)
        self._producer.flush(30)
        return told[0]


@pytest.fixture
def sender(node: BarnabasNode) -> Sender:
    return Sender(node.bootstrap)


def test_serializers_write_at_once_what_they_have_just_registered(
    client: SchemaRegistryClient, topic: Callable[..., str], sender: Sender
) -> None:
    name = topic()
    for number, schema in enumerate((ORDER, NEWER)):
        avro = AvroSerializer(client, schema)
        value = avro({"amount": number, "note": "x"}, SerializationContext(name, MessageField.VALUE))
        assert sender.send(name, value) == 0
    assert sender.send(name, None) == 0
    assert client.get_versions(f"{name}-value") == [1, 2]


def test_an_unknown_id_is_refused_with_its_reason(node: BarnabasNode, topic: Callable[..., str]) -> None:
    name = topic()
    assert Sender(node.bootstrap).send(name, b"\0\0\1\2\3data") == ErrorCode.INVALID_RECORD
    assert Sender(node.bootstrap).send(name, b"plain") == ErrorCode.INVALID_RECORD
    with WireClient(node.bootstrap) as wire:
        body = produce_body(name, batch([b"\0\0\1\2\3data"]))
        answer = wire.call(PRODUCE, 9, body)["responses"][0]["partition_responses"][0]
    told = f"record 0: schema id 66051 of the value is not registered under subject {name}-value"
    assert answer["record_errors"] == [{"batch_index": 0, "batch_index_error_message": told}]


def test_of_another_subject_only_where_the_strategy_allows_it(
    client: SchemaRegistryClient, topic: Callable[..., str], sender: Sender
) -> None:
    name = topic()
    anywhere = topic(
        confluent_value_subject_name_strategy="io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
    )
    schema = '{"type": "record", "name": "Elsewhere", "fields": []}'
    number = client.register_schema("elsewhere", Schema(schema, "AVRO"))
    value = b"\0" + number.to_bytes(4, "big")
    assert sender.send(name, value) == ErrorCode.INVALID_RECORD
    assert sender.send(anywhere, value) == 0


def test_guids_in_headers(client: SchemaRegistryClient, topic: Callable[..., str], sender: Sender) -> None:
    name = topic()
    serializer = AvroSerializer(client, ORDER, conf={"schema.id.serializer": header_schema_id_serializer})
    headers: list[tuple[str, str | bytes | None]] = []
    value = serializer({"amount": 1}, SerializationContext(name, MessageField.VALUE, headers))
    assert value == b"\2"
    assert [each for each, _ in headers] == ["__value_schema_id"]
    assert sender.send(name, value, headers) == 0
    assert sender.send(name, value, [("__value_schema_id", b"\1" + bytes(16))]) == ErrorCode.INVALID_RECORD


def test_a_deleted_schema_takes_no_more_records(
    client: SchemaRegistryClient, topic: Callable[..., str], sender: Sender
) -> None:
    name = topic()
    number = client.register_schema(f"{name}-value", Schema(ORDER, "AVRO"))
    value = b"\0" + number.to_bytes(4, "big") + b"\2"
    assert sender.send(name, value) == 0
    client.delete_subject(f"{name}-value")
    # The node reads the deletion by itself; reading to the end for another unknown id makes it certain.
    assert sender.send(name, b"\0\xff\xff\xff\xff") == ErrorCode.INVALID_RECORD
    assert sender.send(name, value) == ErrorCode.INVALID_RECORD
