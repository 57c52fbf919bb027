"""The library's producers and consumers with the real service, and Confluent's clients on the other side."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from confluent_kafka import DeserializingConsumer, SerializingProducer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer

from barnabas import (
    AsyncConsumer,
    AsyncProducer,
    CannotReach,
    Consumer,
    DeserializationError,
    Producer,
    Registry,
    RegistryError,
    SerializationError,
)
from tests.support.members import until
from tests.support.process import free_port
from tests.support.registry import RegistryProcess
from tests.support.servers import BarnabasNode


@dataclass
class Line:
    item: str
    price: Decimal


@dataclass
class Order:
    id: int
    at: datetime
    lines: list[Line] = field(default_factory=list)
    note: str | None = None


class Payment(pydantic.BaseModel):
    cents: int
    by: str = "card"


class Visit(msgspec.Struct):
    path: str
    seconds: float = 0.0


AT = datetime(2026, 11, 17, 12, tzinfo=UTC)
ORDER = Order(7, AT, [Line("book", Decimal("12.5"))])


@pytest.mark.parametrize("form", ["avro", "json-schema"])
@pytest.mark.parametrize("value", [ORDER, Payment(cents=5), Visit("/", 1.5)], ids=["dataclass", "pydantic", "msgspec"])
def test_typed_records(node: BarnabasNode, registry: RegistryProcess, form: str, value: Any) -> None:
    topic = f"typed-{form}-{type(value).__name__}"
    options: dict[str, Any] = {"bootstrap": node.bootstrap, "registry": registry.address}
    with Producer(value_serializer=form, **options) as producer:
        producer.send(topic, value, key="k")
        producer.send(topic, None, key="k")
    schema = type(value)
    read = list(Consumer(topic, value_deserializer=form, schema=schema, follow=False, **options))
    assert [each.value for each in read] == [value, None]
    assert read[0].key == b"k"
    plain = next(Consumer(topic, value_deserializer=form, follow=False, **options)).value
    assert isinstance(plain, dict)


def test_keys_too_and_the_partition_is_by_their_bytes(node: BarnabasNode, registry: RegistryProcess) -> None:
    way = Registry(registry.address)
    keys, values = way.avro('"long"'), way.avro(Order)
    with Producer(node.bootstrap, key_serializer=keys, value_serializer=values) as producer:
        producer.send("keyed-orders", ORDER, key=7, headers={"source": b"web"})
    (read,) = Consumer(
        "keyed-orders", bootstrap=node.bootstrap, key_deserializer=keys, value_deserializer=values, follow=False
    )
    assert (read.key, read.value, read.headers) == (7, ORDER, (("source", b"web"),))
    assert {"keyed-orders-key", "keyed-orders-value"} <= set(way.subjects())


def test_ids_in_headers(node: BarnabasNode, registry: RegistryProcess) -> None:
    way = Registry(registry.address).avro(Order, ids_in_headers=True)
    with Producer(node.bootstrap, value_serializer=way) as producer:
        producer.send("with-headers", ORDER)
    (read,) = Consumer("with-headers", bootstrap=node.bootstrap, value_deserializer=way, follow=False)
    assert read.value == ORDER
    assert [name for name, _ in read.headers] == ["__value_schema_id"]


def test_asyncio(node: BarnabasNode, registry: RegistryProcess) -> None:
    options: dict[str, Any] = {"bootstrap": node.bootstrap, "registry": registry.address, "schema": Order}

    async def both() -> list[Any]:
        async with AsyncProducer(value_serializer="avro", **options) as producer:
            await producer.send("async-orders", ORDER)
            await producer.send_many("async-orders", [ORDER] * 20)
        async with AsyncConsumer("async-orders", value_deserializer="avro", max_records=21, **options) as consumer:
            return [each.value async for each in consumer]

    assert asyncio.run(both()) == [ORDER] * 21


def test_a_schema_evolves_in_flight(node: BarnabasNode, registry: RegistryProcess) -> None:
    """Fields with defaults come and go; a change that is not compatible is refused before a record is sent."""

    def made(fields: dict[str, Any], defaults: dict[str, Any]) -> Any:
        return msgspec.defstruct("Event", [(f, t, defaults[f]) if f in defaults else (f, t) for f, t in fields.items()])

    first = made({"id": int}, {})
    second = made({"id": int, "kind": str, "tags": list[str]}, {"kind": "view", "tags": []})
    broken = made({"id": str}, {})
    options: dict[str, Any] = {"bootstrap": node.bootstrap, "registry": registry.address}
    with Producer(value_serializer="avro", **options) as producer:
        producer.send("events", first(1))
        producer.send("events", second(2, "click", ["x"]))
        with pytest.raises(RegistryError, match="register a schema of 'events-value': not compatible") as caught:
            producer.send("events", broken("3"))
    assert caught.value.status == 409
    for model, told in ((second, [second(1, "view", []), second(2, "click", ["x"])]), (first, [first(1), first(2)])):
        read = Consumer("events", value_deserializer="avro", schema=model, follow=False, **options)
        assert [each.value for each in read] == told


def test_values_that_do_not_fit_are_not_sent(node: BarnabasNode, registry: RegistryProcess) -> None:
    options: dict[str, Any] = {"bootstrap": node.bootstrap, "registry": registry.address}
    with Producer(value_serializer="avro", schema=Order, **options) as producer:
        with pytest.raises(SerializationError, match="send to 'unfit'"):
            producer.send("unfit", Order("seven", AT))  # type: ignore[arg-type]
        with pytest.raises(SerializationError, match="send to 'unfit'"):
            producer.send("unfit", {"id": 7})


def test_a_record_without_a_schema_says_so(node: BarnabasNode, registry: RegistryProcess) -> None:
    with Producer(node.bootstrap) as producer:
        producer.send("foreign", b"hello")
        producer.send("foreign", b"\0\0\0\x27\x0fxx")
    bad: list[DeserializationError] = []
    way = Registry(registry.address).avro(Order)
    assert not list(
        Consumer("foreign", bootstrap=node.bootstrap, value_deserializer=way, on_error=bad.append, follow=False)
    )
    assert "not written with a registry" in str(bad[0])
    assert "has no schema 9999: was it written with another registry?" in str(bad[1])


def test_a_registry_that_is_away_loses_nothing(node: BarnabasNode, registry: RegistryProcess, tmp_path: Path) -> None:
    """The consumer raises, whatever on_error says, and goes on with the same record when the registry is back."""
    with Producer(node.bootstrap, value_serializer="avro", registry=registry.address) as producer:
        producer.send("outage", ORDER)
    port = free_port()
    away = Registry(f"http://127.0.0.1:{port}", timeout=1)
    with Consumer(
        "outage", bootstrap=node.bootstrap, value_deserializer=away.avro(Order), on_error="skip", timeout=5
    ) as consumer:
        for _ in range(2):
            with pytest.raises(CannotReach, match="Is a registry up"):
                consumer.poll(5)
        other = RegistryProcess(tmp_path / "registry", node.bootstrap, port=port)
        try:
            other.start()
            found: list[Any] = []

            def read() -> bool:
                try:
                    found.append(consumer.poll(1))
                except CannotReach:  # remembered for a second
                    return False
                return True

            until(read, "the registry answers", 10)
            assert found[0].value == ORDER
        finally:
            other.stop()
    with (
        Producer(node.bootstrap, value_serializer="avro", registry=f"http://127.0.0.1:{port}") as producer,
        pytest.raises(CannotReach, match="connection refused"),
    ):
        producer.send("outage", ORDER)


def test_confluents_clients_on_the_other_side(
    node: BarnabasNode, registry: RegistryProcess, client: SchemaRegistryClient
) -> None:
    ours = Registry(registry.address).avro(Payment)
    with Producer(node.bootstrap, value_serializer=ours) as producer:
        producer.send("both-sides", Payment(cents=5))
    text = client.get_latest_version("both-sides-value").schema.schema_str
    theirs = SerializingProducer(
        {"bootstrap.servers": node.bootstrap, "value.serializer": AvroSerializer(client, text)}
    )
    theirs.produce("both-sides", value={"cents": 6, "by": "cash"})
    theirs.flush(10)
    read = Consumer("both-sides", bootstrap=node.bootstrap, value_deserializer=ours, follow=False)
    assert [each.value for each in read] == [Payment(cents=5), Payment(cents=6, by="cash")]
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": node.bootstrap,
            "group.id": "theirs",
            "auto.offset.reset": "earliest",
            "value.deserializer": AvroDeserializer(client),
        }
    )
    consumer.subscribe(["both-sides"])
    found: list[object] = []
    while len(found) < 2:
        got = consumer.poll(20)
        assert got is not None
        found.append(got.value())
    consumer.close()
    assert found == [{"cents": 5, "by": "card"}, {"cents": 6, "by": "cash"}]
