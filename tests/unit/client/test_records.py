"""Serializers that know the record: what they are told, the headers they add, and a registry that does not answer."""

from __future__ import annotations

from typing import Any, cast

import pytest

from barnabas.client.common.rdkafka import ConsumerHandle
from barnabas.client.consumer.message import MessageMaker
from barnabas.client.consumer.reader import Reader
from barnabas.client.errors import BadSetting, CannotReach, DeserializationError
from barnabas.client.serde.records import RecordEncoder, record_decoder, record_encoder
from barnabas.client.serde.registry.serializer import SchemaSerializer
from barnabas.client.serde.serializers import Encoded, Part, RecordHeaders, RecordSerializer
from barnabas.client.serde.shorthands import with_registry
from barnabas.model.ids import TopicPartition
from tests.unit.client.fakes import FakeHandle, FakeMembership, FakeMessage


class Telling:
    """Writes what it was told into the bytes and a header; reads by `answers`, an exception is raised."""

    def __init__(self) -> None:
        self.prepared: list[bytes] = []
        self.away = False

    def encode(self, value: Any, topic: str, part: Part) -> Encoded:
        return f"{topic} {part} {value}".encode(), (f"id-{part}", b"7")

    def is_ready(self, value: Any, topic: str, part: Part) -> bool:
        return bool(value == "known")

    def decode(self, data: bytes, topic: str, part: Part, headers: RecordHeaders | None) -> Any:
        if self.away:
            raise CannotReach("the registry", "connection refused")
        if data == b"bad":
            raise ValueError("no schema id")
        return data, topic, part, headers

    def prepare(self, data: bytes, topic: str, part: Part, headers: RecordHeaders | None) -> None:
        self.prepared.append(data)


def test_plain_serializers_take_the_short_way() -> None:
    assert record_encoder("json", None) is None
    assert record_decoder("json", str) is None
    assert isinstance(Telling(), RecordSerializer)


def test_topic_part_and_headers() -> None:
    both = RecordEncoder(Telling(), Telling())
    data, key, headers = both.encode("orders", "v", "k", {"source": b"web", "id-key": b"old"})
    assert (data, key) == (b"orders value v", b"orders key k")
    assert headers == [("source", b"web"), ("id-value", b"7"), ("id-key", b"7")]
    assert both.encode("orders", None, None, None) == (None, None, None)
    mixed = RecordEncoder("string", Telling())
    assert mixed.encode("orders", "v", "k", None)[:2] == (b"orders value v", b"k")
    bare = RecordEncoder(None, Telling())
    assert bare.encode("orders", "v", "k", None)[1] == "k"


def test_ready_means_no_request() -> None:
    both = RecordEncoder(Telling(), Telling())
    assert both.is_ready("t", "known", "known")
    assert both.is_ready("t", None, "known")
    assert not both.is_ready("t", "known", "new")
    assert RecordEncoder("json", Telling()).is_ready("t", "known", "new")


def test_a_consumer_tells_the_record() -> None:
    message = MessageMaker("string", Telling(), "raise").make(FakeMessage(7, 0, "t", b"v", b"k", [("h", b"1")]))
    assert message is not None
    assert message.value == (b"v", "t", "value", [("h", b"1")])
    assert message.key == "k"
    skipping = MessageMaker(None, Telling(), "skip")
    assert skipping.make(FakeMessage(7, value=b"bad")) is None
    with pytest.raises(DeserializationError, match="the key is not readable: ValueError: no schema id"):
        MessageMaker(Telling(), None, "raise").make(FakeMessage(7, key=b"bad"))


def test_a_registry_that_is_away_loses_no_record() -> None:
    """Whatever on_error says: the record is not at fault, and is handed out when it is asked for again."""
    way = Telling()
    handle = FakeHandle(FakeMessage(0, value=b"a"), FakeMessage(1, value=b"b"))
    maker = MessageMaker(None, way, "skip")
    reader = Reader(cast(ConsumerHandle, handle), "host:1", maker, "auto", 500, "committed")
    reader.attach(FakeMembership(TopicPartition("t", 0)))
    reader.fetch(0)
    assert way.prepared == [b"a", b"b"], "asked for where it may wait, before they are handed out"
    first = reader.take()
    assert first is not None
    way.away = True
    for _ in range(2):
        with pytest.raises(CannotReach):
            reader.take()
    way.away = False
    second = reader.take()
    assert second is not None
    assert (first.offset, second.offset) == (0, 1)
    reader.close()
    assert handle.stored == {TopicPartition("t", 0): 1}


def test_names_become_serializers() -> None:
    key, value = with_registry("avro", "json", "http://127.0.0.1:1", '"string"', None, "serializer")
    assert isinstance(key, SchemaSerializer)
    assert value == "json"
    key, value = with_registry("json", "protobuf", {"url": "http://a:1"}, None, None, "serializer")
    assert isinstance(value, SchemaSerializer)
    assert str(value.registry) == "http://a:1"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("json", None, "http://a:1", None, None), 'registry goes with value_serializer="avro"'),
        (("json", None, None, None, {}), 'schema goes with value_serializer="avro"'),
        (("avro", "json", None, None, {}), "schema is given, but what it describes is not written with"),
        (("avro", None, 7, None, None), "registry is an address, a Registry or a dictionary"),
        (("avro", None, "a:1", None, None), "'a:1' is not the address of a registry"),
    ],
)
def test_what_does_not_go_together(given: tuple[Any, ...], told: str) -> None:
    with pytest.raises(BadSetting, match=told):
        with_registry(given[0], given[1], given[2], given[3], given[4], "serializer")
