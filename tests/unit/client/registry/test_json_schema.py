"""JSON with a schema in a registry: schemas of classes, what is refused, and Confluent's serializers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas import BadSetting, Registry
from barnabas.client.serde.registry.schema import Reference, Schema
from tests.unit.client.registry.models import Order, OrderModel, OrderStruct, Tree
from tests.unit.client.registry.small_registry import SmallRegistry

CENTS = {"title": "Payment", "type": "object", "properties": {"cents": {"type": "integer", "minimum": 0}}}


@dataclass
class Line:
    item: str


@dataclass
class Basket:
    lines: list[Line] = field(default_factory=list)


@pytest.mark.parametrize(
    "value", [Order(7, "book"), OrderStruct(7, "book"), OrderModel(id=7, itemName="book"), Tree("a", [Tree("b")])]
)
def test_classes_come_back(small: SmallRegistry, value: Any) -> None:
    way = Registry(small.url).json_schema(type(value))
    data, _ = way.encode(value, "orders", "value")
    assert way.decode(data, "orders", "value", None) == value
    schema = json.loads(small.schemas[0]["schema"])
    assert schema["title"] == type(value).__name__
    assert jsonschema_rs.validator_for(schema).is_valid(json.loads(data[5:]))


def test_schemas_of_classes_are_closed(small: SmallRegistry) -> None:
    Registry(small.url).json_schema(Basket).encode(Basket([Line("a")]), "t", "value")
    schema = json.loads(small.schemas[0]["schema"])
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Line"]["additionalProperties"] is False
    assert schema["type"] == "object"


def test_what_does_not_fit_is_not_sent(small: SmallRegistry) -> None:
    way = Registry(small.url).json_schema(CENTS)
    with pytest.raises(ValueError, match=r"^\.\w+: -1 is less than the minimum of 0$"):
        way.encode({"cents": -1}, "t", "value")
    data, _ = way.encode({"cents": 1}, "t", "value")
    assert data == b'\0\0\0\0\1{"cents":1}'
    lenient = Registry(small.url).json_schema(CENTS, validate=False)
    assert lenient.encode({"cents": -1}, "t", "value")[0] == b'\0\0\0\0\1{"cents":-1}'


def test_reading_needs_no_request_and_checks_the_type(small: SmallRegistry) -> None:
    way = Registry("http://127.0.0.1:1").json_schema(Order)
    assert way.decode(b'\0\0\0\0\1{"id":7,"item":"book"}', "t", "value", None) == Order(7, "book")
    with pytest.raises(msgspec.ValidationError, match="Expected `int`, got `str`"):
        way.decode(b'\0\0\0\0\1{"id":"7","item":"book"}', "t", "value", None)


def test_references(small: SmallRegistry) -> None:
    registry = Registry(small.url)
    registry.register("cents", Schema("JSON", '{"type": "integer"}'))
    price = Schema("JSON", '{"properties": {"price": {"$ref": "cents.json"}}}', (Reference("cents.json", "cents", 1),))
    registry.register("t-value", price)
    way = registry.json_schema(use_latest_version=True)
    assert way.encode({"price": 1}, "t", "value")[0][5:] == b'{"price":1}'
    with pytest.raises(ValueError, match="is not of type"):
        way.encode({"price": "1"}, "t", "value")


def test_subjects_named_after_the_title(small: SmallRegistry) -> None:
    Registry(small.url).json_schema(CENTS, subject="record").encode({"cents": 1}, "t", "value")
    assert list(small.subjects) == ["Payment"]
    with pytest.raises(BadSetting, match="has no name, so its subject cannot be named after it"):
        Registry(small.url).json_schema({"type": "object"}, subject="record").encode({}, "t", "value")


def test_confluent_reads_and_writes_the_same(small: SmallRegistry) -> None:
    client = SchemaRegistryClient({"url": small.url})
    ours = Registry(small.url).json_schema(Order)
    data, _ = ours.encode(Order(7, "book"), "orders", "value")
    where = SerializationContext("orders", MessageField.VALUE)
    text = small.schemas[0]["schema"]
    assert JSONDeserializer(text, schema_registry_client=client)(data, where) == json.loads(data[5:])
    written = JSONSerializer(text, client)(json.loads(data[5:]), where)
    assert written is not None
    assert ours.decode(written, "orders", "value", None) == Order(7, "book")
