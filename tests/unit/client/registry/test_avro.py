"""Avro with a registry: types to schemas and back, evolution by defaults, and Confluent's serializers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, make_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_type_hints
from uuid import UUID, uuid4

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas import BadSetting, Registry, RegistryError
from barnabas.client.serde.registry.avro.types import TypeMapper
from barnabas.client.serde.registry.schema import Reference, Schema
from tests.unit.client.registry.models import EVERYTHING, Colour, Everything, Order, OrderModel, OrderStruct, Tree
from tests.unit.client.registry.small_registry import SmallRegistry

PAYMENT = {"type": "record", "name": "Payment", "namespace": "shop", "fields": [{"name": "cents", "type": "long"}]}


def test_a_dataclass_gives_its_schema(small: SmallRegistry) -> None:
    orders = Registry(small.url).avro(Order)
    data, header = orders.encode(Order(7, "book"), "orders", "value")
    assert header is None
    assert data[:5] == b"\0\0\0\0\1"
    assert json.loads(small.schemas[0]["schema"]) == {
        "type": "record",
        "name": "Order",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "item", "type": "string"},
            {"name": "note", "type": ["null", "string"], "default": None},
            {
                "name": "colour",
                "type": {"type": "enum", "name": "Colour", "symbols": ["red", "blue"]},
                "default": "red",
            },
        ],
    }
    assert orders.decode(data, "orders", "value", None) == Order(7, "book", None, Colour.RED)
    assert list(small.subjects) == ["orders-value"]


def test_a_schema_is_asked_for_once(small: SmallRegistry) -> None:
    orders = Registry(small.url).avro(Order)
    assert not orders.is_ready(Order(1, "a"), "orders", "value")
    written = [orders.encode(Order(number, "a"), "orders", "value")[0] for number in range(50)]
    read = [orders.decode(each, "orders", "value", None).id for each in written]
    assert read == list(range(50))
    assert small.requests == ["POST /subjects/orders-value/versions", "GET /schemas/ids/1"]
    assert orders.is_ready(Order(1, "a"), "orders", "value")


def test_every_type_comes_back(small: SmallRegistry) -> None:
    everything = Registry(small.url).avro(Everything)
    data, _ = everything.encode(EVERYTHING, "t", "value")
    assert everything.decode(data, "t", "value", None) == EVERYTHING


@pytest.mark.parametrize(
    "value", [OrderStruct(7, "book", "x"), OrderModel(id=7, itemName="book"), Tree("a", [Tree("b", [Tree("c")])])]
)
def test_structs_models_and_trees_come_back(small: SmallRegistry, value: Any) -> None:
    way = Registry(small.url).avro(type(value))
    assert way.decode(way.encode(value, "t", "key")[0], "t", "key", None) == value


def test_pydantic_says_the_digits_of_a_decimal_and_names_of_others_are_used() -> None:
    fields = {each["name"]: each for each in TypeMapper().of(OrderModel).schema["fields"]}
    assert fields["price"]["type"] == {"type": "bytes", "logicalType": "decimal", "precision": 8, "scale": 2}
    assert fields["price"]["default"] == "\x00\x96"
    assert "itemName" in fields


def test_fields_come_and_go_by_their_defaults(small: SmallRegistry) -> None:
    new = make_dataclass("Order", [("id", int), ("item", str), ("express", bool, field(default=False))])
    old_way, new_way = Registry(small.url).avro(Order), Registry(small.url).avro(new)
    old, _ = old_way.encode(Order(7, "book", "fragile"), "orders", "value")
    assert new_way.decode(old, "orders", "value", None) == new(7, "book", False)
    later, _ = new_way.encode(new(8, "lamp", True), "orders", "value")
    assert old_way.decode(later, "orders", "value", None) == Order(8, "lamp")


def test_defaults_of_every_type_are_values(small: SmallRegistry) -> None:
    """fastavro alone would give a text for bytes, a number for a time, and one list to all records."""
    smaller = make_dataclass("Everything", [(each.name, each.type) for each in fields(Everything)[:17]])
    smaller.__annotations__ = dict(list(get_type_hints(Everything, include_extras=True).items())[:17])
    values = [getattr(EVERYTHING, each.name) for each in fields(smaller)]
    data, _ = Registry(small.url).avro(smaller).encode(smaller(*values), "t", "value")
    way = Registry(small.url).avro(Everything)
    first, second = (way.decode(data, "t", "value", None) for _ in range(2))
    assert first == Everything(*values)
    first.sizes["x"] = []
    assert second == Everything(*values)


def test_values_say_their_own_schema(small: SmallRegistry) -> None:
    way = Registry(small.url).avro()
    order, _ = way.encode(Order(7, "book"), "all", "value")
    struct, _ = way.encode(OrderStruct(8, "lamp"), "all", "value")
    assert (order[4], struct[4]) == (1, 2)
    assert way.decode(order, "all", "value", None) == {"id": 7, "item": "book", "note": None, "colour": "red"}
    with pytest.raises(BadSetting, match="a value of type dict has no schema of its own: give one"):
        way.encode({"id": 7}, "all", "value")


def test_the_newest_schema_of_the_subject_is_used(small: SmallRegistry) -> None:
    registry = Registry(small.url)
    registry.register("pay-value", Schema("AVRO", json.dumps(PAYMENT)))
    way = registry.avro(use_latest_version=True)
    data, _ = way.encode({"cents": 5}, "pay", "value")
    assert way.decode(data, "pay", "value", None) == {"cents": 5}
    with pytest.raises(RegistryError, match="get version latest of 'other-value'"):
        way.encode({"cents": 5}, "other", "value")


def test_without_registering_an_unknown_schema_is_refused(small: SmallRegistry) -> None:
    registry = Registry(small.url)
    with pytest.raises(RegistryError, match="look up a schema of 'orders-value': Schema not found") as caught:
        registry.avro(Order, auto_register=False).encode(Order(1, "a"), "orders", "value")
    assert caught.value.error_code == 40403
    registry.avro(Order).encode(Order(1, "a"), "orders", "value")
    registry.avro(Order, auto_register=False).encode(Order(1, "a"), "orders", "value")
    assert len(small.schemas) == 1


@pytest.mark.parametrize(("strategy", "subject"), [("record", "shop.Order"), ("topic-record", "orders-shop.Order")])
def test_subjects_named_after_the_record(
    small: SmallRegistry, strategy: Literal["record", "topic-record"], subject: str
) -> None:
    Registry(small.url).avro(Order, subject=strategy, namespace="shop").encode(Order(1, "a"), "orders", "value")
    assert list(small.subjects) == [subject]


def test_ids_in_headers(small: SmallRegistry) -> None:
    way = Registry(small.url).avro(Order, ids_in_headers=True)
    data, header = way.encode(Order(7, "book"), "orders", "key")
    assert header is not None
    assert header[0] == "__key_schema_id"
    assert header[1] == b"\x01" + UUID(small.schemas[0]["guid"]).bytes
    assert way.decode(data, "orders", "key", [("other", b"1"), header]) == Order(7, "book")
    with pytest.raises(ValueError, match="no schema id before the data and none in the header __value_schema_id"):
        way.decode(b"\x0e\x08book", "orders", "value", [header])


def test_schemas_of_several_files(small: SmallRegistry, tmp_path: Path) -> None:
    """A topic of several types, as Confluent recommends it: a union of names that are references."""
    registry = Registry(small.url)
    registry.register("payment", Schema("AVRO", json.dumps(PAYMENT)))
    text = tmp_path / "refund.avsc"
    text.write_text('{"type":"record","name":"Refund","fields":[{"name":"of","type":"shop.Payment"}]}')
    refund = Schema("AVRO", text.read_text(), (Reference("shop.Payment", "payment", 1),))
    registry.register("refund", refund)
    both = Schema(
        "AVRO",
        '["shop.Payment","Refund"]',
        (Reference("shop.Payment", "payment", 1), Reference("Refund", "refund", 1)),
    )
    registry.register("money-value", both)
    way = registry.avro(use_latest_version=True)
    for value in ({"cents": 5}, {"of": {"cents": 6}}):
        assert way.decode(way.encode(value, "money", "value")[0], "money", "value", None) == value


@pytest.mark.parametrize("schema", ['"bytes"', '{"type": "bytes"}', '"string"', '["null", "long"]'])
def test_what_is_no_record(small: SmallRegistry, schema: str) -> None:
    value = {"b": b"\x01\x02", "s": "text", "n": 7}["b" if "bytes" in schema else "s" if "string" in schema else "n"]
    way = Registry(small.url).avro(schema)
    data, _ = way.encode(value, "t", "value")
    assert way.decode(data, "t", "value", None) == value
    assert data[5:] == value if value == b"\x01\x02" else True


# --- Confluent's serializers ------------------------------------------------------------------------------------------


def test_confluents_reader_reads_what_we_write(small: SmallRegistry) -> None:
    theirs = AvroDeserializer(SchemaRegistryClient({"url": small.url}))
    for value in (Order(7, "book", "x"), EVERYTHING):
        data, _ = Registry(small.url).avro().encode(value, "orders", "value")
        read = theirs(data, SerializationContext("orders", MessageField.VALUE))
        assert isinstance(read, dict)
        assert list(read) == [each.name for each in value.__dataclass_fields__.values()]
    data, header = Registry(small.url).avro(Order, ids_in_headers=True).encode(Order(7, "book"), "orders", "value")
    assert header is not None
    found = theirs(data, SerializationContext("orders", MessageField.VALUE, [header]))
    assert found == {"id": 7, "item": "book", "note": None, "colour": "red"}


@pytest.mark.parametrize("in_headers", [False, True])
def test_we_read_what_confluents_writer_writes(small: SmallRegistry, in_headers: bool) -> None:
    conf = {"schema.id.serializer": header_schema_id_serializer} if in_headers else {}
    client = SchemaRegistryClient({"url": small.url})
    schema = TypeMapper().of(Order).schema
    theirs = AvroSerializer(client, json.dumps(schema), conf=conf)
    headers: list[tuple[str, Any]] = []
    written = theirs(
        {"id": 7, "item": "book", "note": None, "colour": "blue"},
        SerializationContext("orders", MessageField.VALUE, headers),
    )
    assert written is not None
    assert bool(headers) is in_headers
    way = Registry(small.url).avro(Order)
    assert way.decode(written, "orders", "value", headers) == Order(7, "book", None, Colour.BLUE)


# --- what cannot be ---------------------------------------------------------------------------------------------------


@dataclass
class Bad:
    thing: object


@dataclass
class Twins:
    either: Order | OrderStruct


@dataclass
class Keys:
    by_number: dict[int, str]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (Bad, r"Bad.thing: there is no Avro type for object"),
        (Twins, r"Twins.either: a union of Order \| OrderStruct cannot be told apart"),
        (Keys, r"Keys.by_number: the keys of a map of Avro are str"),
    ],
)
def test_types_that_avro_has_not(model: type, told: str) -> None:
    with pytest.raises(BadSetting, match=told):
        Registry().avro(model)


def test_a_default_that_changes_is_none() -> None:
    @dataclass
    class Event:
        id: UUID = field(default_factory=uuid4)
        at: datetime = field(default_factory=datetime.now)
        tags: list[str] = field(default_factory=list)

    # get_type_hints does not see names of a function
    Event.__annotations__ = {"id": UUID, "at": datetime, "tags": list[str]}
    assert ["default" in each for each in TypeMapper().of(Event).schema["fields"]] == [False, False, True]


@pytest.mark.parametrize("schema", ["{", '{"type": "nothing"}', "missing.avsc", 7])
def test_texts_that_are_no_schema(schema: Any) -> None:
    with pytest.raises(BadSetting, match=r"Avro schema"):
        Registry().avro(schema)
