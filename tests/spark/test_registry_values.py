"""Values with a schema of a registry in Spark: typed columns, versions side by side, and writing them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from barnabas import Producer
from barnabas.pipelines.framework.registry import find
from barnabas.testing import RunningNode
from tests.spark.stage import Stage
from tests.support.registry import RegistryProcess

FIELDS: list[Any] = [{"name": "id", "type": "long"}, {"name": "user", "type": "string"}]
FIRST: dict[str, Any] = {"type": "record", "name": "Order", "fields": FIELDS}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
LEVEL = {"name": "level", "type": "int", "default": 7}
SECOND = {**FIRST, "fields": [*FIELDS, NOTE, LEVEL]}
PROTO = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string user = 2; }'
PROTO_2 = 'syntax = "proto3"; package shop; message Order { int64 id = 1; string user = 2; optional string note = 3; }'
UTC = dt.UTC


@pytest.fixture(scope="module")
def client(registry: RegistryProcess) -> Iterator[SchemaRegistryClient]:
    with SchemaRegistryClient({"url": registry.address}) as opened:
        yield opened


class Sheet:
    """Reads and writes one topic with a registry."""

    def __init__(self, spark: Any, registry: str, topic: str, form: str) -> None:
        self.spark, self.registry, self.topic, self.form = spark, registry, topic, form

    def read(self, **more: str) -> Any:
        reader = self.spark.read.format("barnabas").option("subscribe", self.topic).option("valueFormat", self.form)
        return reader.option("registry", self.registry).options(**more).load()

    def rows(self, *columns: str, **more: str) -> list[tuple[Any, ...]]:
        return [tuple(each) for each in self.read(**more).orderBy("offset").select(*columns).collect()]

    def values(self) -> list[bytes]:
        rows = self.spark.read.format("barnabas").option("subscribe", self.topic).load().orderBy("offset")
        return [bytes(each.value) for each in rows.select("value").collect()]

    def write(self, frame: Any, **more: str) -> None:
        writer = frame.write.format("barnabas").mode("append").option("topic", self.topic)
        writer.option("valueFormat", self.form).option("registry", self.registry).options(**more).save()


@pytest.fixture
def sheet(quick_spark: Any, registry: RegistryProcess, topic: Callable[..., str]) -> Callable[[str], Sheet]:
    return lambda form: Sheet(quick_spark, registry.address, topic(), form)


def send(node: RunningNode, topic: str, *values: bytes | None, headers: Any = None) -> None:
    with Producer(node.bootstrap) as producer:
        for value in values:
            producer.send(topic, value, key="k", headers=headers)


def avro(client: SchemaRegistryClient, topic: str, schema: object, value: dict[str, Any]) -> bytes:
    serializer = AvroSerializer(client, json.dumps(schema))
    found: bytes = serializer(value, SerializationContext(topic, MessageField.VALUE))
    return found


def test_avro_versions_side_by_side_and_in_a_stream(
    node: RunningNode, client: SchemaRegistryClient, sheet: Callable[[str], Sheet], tmp_path: Path
) -> None:
    orders = sheet("avro")
    send(node, orders.topic, avro(client, orders.topic, FIRST, {"id": 1, "user": "ada"}), None, b"no id")
    assert (
        orders.read().schema.simpleString().endswith("id:bigint,user:string,_bad:struct<reason:string,value:binary>>")
    )
    reason = "no schema id before the data and none in the header __value_schema_id: not written with a registry"
    assert orders.rows("id", "user", "_bad.reason") == [(1, "ada", None), (None, None, None), (None, None, reason)]

    def stream() -> list[tuple[Any, ...]]:
        """The new rows of the stream, started again on its checkpoint."""
        reader = orders.spark.readStream.format("barnabas").option("subscribe", orders.topic)
        reader = reader.option("startingOffsets", "earliest").option("valueFormat", "avro")
        frame = reader.option("registry", orders.registry).option("valueMode", "DROPMALFORMED").load()
        fields = [each for each in ("id", "user", "note", "level") if each in frame.columns]
        found: list[tuple[Any, ...]] = []
        writer = frame.select(*fields).writeStream.foreachBatch(
            lambda rows, _: found.extend(map(tuple, rows.collect()))
        )
        writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
        return found

    assert stream() == [(1, "ada"), (None, None)]
    send(node, orders.topic, avro(client, orders.topic, SECOND, {"id": 2, "user": "bob", "note": "x", "level": 1}))
    # Old records by the newer schema, with its defaults, and new ones by the older.
    found = orders.rows("id", "note", "level", valueMode="DROPMALFORMED")
    assert found == [(1, None, 7), (None, None, None), (2, "x", 1)]
    old = orders.read(schemaVersion="1")
    assert "note" not in old.columns
    assert orders.rows("id", "user", schemaVersion="1")[-1] == (2, "bob")
    assert stream() == [(2, "bob", "x", 1)]  # the same checkpoint: new columns at the next start


def test_references_headers_and_what_the_registry_does_not_have(
    node: RunningNode, client: SchemaRegistryClient, sheet: Callable[[str], Sheet]
) -> None:
    from confluent_kafka.schema_registry import header_schema_id_serializer

    orders = sheet("avro")
    subject = f"{orders.topic}-value"
    user = {"type": "record", "name": "User", "namespace": "shop", "fields": [{"name": "name", "type": "string"}]}
    client.register_schema(f"{orders.topic}-user", Schema(json.dumps(user), "AVRO"))
    order = {"type": "record", "name": "Order", "fields": [{"name": "who", "type": "shop.User"}]}
    reference = [SchemaReference("shop.User", f"{orders.topic}-user", 1)]
    named = Schema(json.dumps(order), "AVRO", reference)
    number = client.register_schema(subject, named)
    serializer = AvroSerializer(client, named, conf={"schema.id.serializer": header_schema_id_serializer})
    headers: list[tuple[str, Any]] = []
    value = serializer({"who": {"name": "ada"}}, SerializationContext(orders.topic, MessageField.VALUE, headers))
    assert value == b"\x06ada"
    send(node, orders.topic, value, headers=headers)
    send(node, orders.topic, b"\0" + number.to_bytes(4, "big") + value, b"\0\x00\x0f\x42\x40" + value, b"\0\0\0\0")
    rows = orders.rows("who.name", "_bad.reason")
    assert rows[:3] == [("ada", None), ("ada", None), (None, "the registry has no schema 1000000")]
    assert rows[3][0] is None and "no schema id" in rows[3][1]


def test_protobuf_by_field_numbers(
    node: RunningNode, client: SchemaRegistryClient, sheet: Callable[[str], Sheet]
) -> None:
    orders = sheet("protobuf")
    subject = f"{orders.topic}-value"
    first = client.register_schema(subject, Schema(PROTO, "PROTOBUF"))
    second = client.register_schema(subject, Schema(PROTO_2, "PROTOBUF"))
    old = b"\0" + first.to_bytes(4, "big") + b"\0" + b"\x08\x01\x12\x03ada"
    new = b"\0" + second.to_bytes(4, "big") + b"\2\0" + b"\x08\x02\x12\x03bob\x1a\x01x"
    send(node, orders.topic, old, new)
    assert orders.rows("id", "user", "note", "_bad") == [(1, "ada", None, None), (2, "bob", "x", None)]
    assert orders.rows("id", "user", schemaVersion="1", valueMode="FAILFAST") == [(1, "ada"), (2, "bob")]


def test_json_schema_by_name(node: RunningNode, client: SchemaRegistryClient, sheet: Callable[[str], Sheet]) -> None:
    orders = sheet("json-schema")
    properties = {
        "id": {"type": "integer"},
        "when": {"type": ["string", "null"], "format": "date-time"},
        "user": {"$ref": "#/definitions/user"},
    }
    definitions = {"user": {"type": "object", "properties": {"name": {"type": "string"}}}}
    text = json.dumps({"title": "order", "type": "object", "properties": properties, "definitions": definitions})
    context = SerializationContext(orders.topic, MessageField.VALUE)
    value = {"id": 1, "when": "2026-01-02T03:04:05Z", "user": {"name": "ada"}, "more": True}
    good = JSONSerializer(text, client)(value, context)
    send(node, orders.topic, good)
    when = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).replace(tzinfo=None)
    assert orders.rows("id", "when", "user.name", "_bad") == [(1, when, "ada", None)]
    send(node, orders.topic, good[:5] + b'{"id": "one"}', None)
    rows = orders.rows("id", "user.name", "_bad.reason")
    assert rows == [(1, "ada", None), (None, None, "id: 'one' is not bigint"), (None, None, None)]


@pytest.mark.parametrize("form", ["avro", "protobuf", "json-schema"])
def test_what_is_written_is_read_again(
    form: str, node: RunningNode, client: SchemaRegistryClient, sheet: Callable[[str], Sheet]
) -> None:
    orders = sheet(form)
    kind = (
        "id BIGINT, user STRING, amount DOUBLE, ok BOOLEAN, at TIMESTAMP, data BINARY, tags ARRAY<STRING>,"
        " place STRUCT<city: STRING, at: TIMESTAMP>, counts MAP<STRING, BIGINT>"
    )
    at = dt.datetime(2026, 1, 2, 3, 4, 5, 678_000)
    full = (1, "ada", 1.5, True, at, bytearray(b"\0\1"), ["a", "b"], ("Rome", at), {"x": 1})
    empty = (2, *[None] * 8)
    frame = orders.spark.createDataFrame([full, empty], kind).coalesce(1)
    orders.write(frame)
    subject = f"{orders.topic}-value"
    latest = client.get_latest_version(subject)
    assert latest.schema_id is not None and latest.version == 1
    assert latest.schema.schema_type == {"avro": "AVRO", "json-schema": "JSON"}.get(form, "PROTOBUF")
    assert {value[:5] for value in orders.values()} == {b"\0" + latest.schema_id.to_bytes(4, "big")}
    names = ["id", "user", "amount", "ok", "at", "data", "tags", "place", "counts"]
    first, second = orders.rows(*names, valueMode="FAILFAST")
    assert first == full
    absent: tuple[object, ...] = ([], {})  # Protobuf's arrays and maps cannot be null
    assert second[0] == 2 and all(each is None or each in absent for each in second[1:]), second
    # The same columns again are the same version; a new one is a new version, and old records keep reading.
    orders.write(frame.select(*reversed(names)))
    assert client.get_versions(subject) == [1]
    more = orders.spark.createDataFrame([(*full, "new")], f"{kind}, note STRING")
    orders.write(more)
    assert client.get_versions(subject) == [1, 2]
    assert [each[0] for each in orders.rows("note", valueMode="FAILFAST")] == [None] * 4 + ["new"]


def test_avro_types_and_a_version_that_is_given(
    node: RunningNode, client: SchemaRegistryClient, sheet: Callable[[str], Sheet]
) -> None:
    orders = sheet("avro")
    client.register_schema(f"{orders.topic}-value", Schema(json.dumps(SECOND), "AVRO"))
    spark = orders.spark
    orders.write(spark.createDataFrame([(5, "eve")], "id BIGINT, user STRING"), schemaVersion="latest")
    decoded = AvroDeserializer(client)(orders.values()[0], SerializationContext(orders.topic, MessageField.VALUE))
    assert decoded == {"id": 5, "user": "eve", "note": None, "level": 7}
    with pytest.raises(Exception, match=r"column 'amount' is not in the schema of .* which has id, user, note, level"):
        orders.write(spark.createDataFrame([(5, 1.5)], "id BIGINT, amount DOUBLE"), schemaVersion="1")
    with pytest.raises(Exception, match="a row does not fit the schema"):
        orders.write(spark.createDataFrame([(5, None)], "id BIGINT, user STRING"), schemaVersion="1")
    with pytest.raises(Exception, match=r"registry: .*(not compatible|incompatible)"):
        orders.write(spark.createDataFrame([("x",)], "id STRING"))
    other = sheet("avro")
    values = [(Decimal("1.25"), dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 3), "k")]
    other.write(spark.createDataFrame(values, "price DECIMAL(10,2), day DATE, local TIMESTAMP_NTZ, key STRING"))
    assert other.rows("price", "day", "local", "key") == [
        (Decimal("1.25"), dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 3), bytearray(b"k"))
    ]


def test_what_is_wrong_is_said_before_a_query_starts(registry: RegistryProcess, sheet: Callable[[str], Sheet]) -> None:
    orders = sheet("avro")
    with pytest.raises(Exception, match=f"registry: .*{orders.topic}-value"):
        orders.read()
    with pytest.raises(Exception, match="valueSchema is for values without a registry"):
        orders.read(valueSchema='"string"')
    with pytest.raises(Exception, match="schemaVersion is the number of a version or latest, not 'two'"):
        orders.read(schemaVersion="two")
    with pytest.raises(Exception, match="did you mean valueSubject"):
        orders.read(valueSubjekt="x")
    with pytest.raises(Exception, match="json-schema"):
        Sheet(orders.spark, registry.address, orders.topic, "json").read()
    unreachable = Sheet(orders.spark, "http://u:secret@127.0.0.1:1", orders.topic, "avro")
    with pytest.raises(Exception, match="registry: ") as told:
        unreachable.read()
    assert "secret" not in str(told.value)


def test_a_registry_alone_gives_json_and_so_do_the_pipelines_that_ship(
    node: RunningNode, client: SchemaRegistryClient, registry: RegistryProcess, quick_spark: Any, tmp_path: Path
) -> None:
    stage = Stage(find("metrics"), quick_spark, node.bootstrap, tmp_path, partitions=1)
    name = stage.topics["requests"]
    millis = {"type": "long", "logicalType": "timestamp-millis"}
    kinds = {"id": "string", "service": "string", "time": millis, "status": "int", "latency_us": "long"}
    fields = [{"name": field, "type": kind} for field, kind in kinds.items()]
    schema = {"type": "record", "name": "Request", "fields": fields}
    at = dt.datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    request = {"id": "a", "service": "api", "time": at, "status": 200, "latency_us": 1500}
    plain = {**request, "id": "b", "time": at.isoformat()}
    unknown = b"\0\xff\xff\xff\xff{}"
    send(node, name, avro(client, name, schema, request), json.dumps(plain).encode(), unknown, None, b"\0")
    context = stage.context(source={"registry": registry.address})
    raw = context.raw_batch("requests").orderBy("offset").select("value").collect()
    assert json.loads(bytes(raw[0].value))["time"].startswith("2026-01-02T03:04:05.678")
    assert [raw[at].value and bytes(raw[at].value) for at in (2, 3, 4)] == [unknown, None, b"\0"]
    rows = context.batch("requests").orderBy("_offset").select("id", "service", "time", "latency_us").collect()
    time = at.replace(tzinfo=None)
    assert [tuple(row) for row in rows] == [("a", "api", time, 1500), ("b", "api", time, 1500)]
    assert "registry" not in context.writing()
