"""Values with a schema of a registry as columns, read without Spark: versions side by side, bad records, refusals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql.types import StructType

from barnabas import Producer, Registry
from barnabas.client.serde.registry import framing
from barnabas.pipelines.datasource import BarnabasDataSource
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.refused import RefusedStreamReader
from barnabas.pipelines.source.stream import BarnabasStreamReader
from barnabas.testing import RunningNode, running_node
from tests.support.process import free_port
from tests.support.registry import RegistryProcess
from tests.unit.pipelines.source_topics import COLUMNS, Topics

FIELDS: list[Any] = [{"name": "id", "type": "long"}, {"name": "user", "type": "string"}]
FIRST: dict[str, Any] = {"type": "record", "name": "Order", "fields": FIELDS}
LEVEL = {"name": "level", "type": "int", "default": 7}
SECOND = {**FIRST, "fields": [*FIELDS, LEVEL]}
OBJECT = {"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}, "user": {"type": "string"}}}


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.fixture(scope="module")
def registry(node: RunningNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with RegistryProcess(tmp_path_factory.mktemp("registry"), node.bootstrap) as serving:
        assert isinstance(serving, RegistryProcess)
        yield serving


class Orders:
    """A topic, its schemas, and what a query sees of it."""

    def __init__(self, node: RunningNode, registry: RegistryProcess) -> None:
        self.node, self.registry = node, registry
        self.topic = Topics(node).make([[]])
        self.client = SchemaRegistryClient({"url": registry.address})

    def send(self, *values: bytes | None) -> None:
        with Producer(self.node.bootstrap) as producer:
            for value in values:
                producer.send(self.topic, value, partition=0)

    def avro(self, schema: object, **value: object) -> bytes:
        found: bytes = AvroSerializer(self.client, json.dumps(schema))(value, self._context())
        return found

    def json(self, **value: object) -> bytes:
        found: bytes = JSONSerializer(json.dumps(OBJECT), self.client)(value, self._context())
        return found

    def _context(self) -> SerializationContext:
        return SerializationContext(self.topic, MessageField.VALUE)

    def source(self, form: str, **more: str) -> BarnabasDataSource:
        options = {"kafka.bootstrap.servers": self.node.bootstrap, "subscribe": self.topic, **more}
        return BarnabasDataSource({"valueFormat": form, "registry": self.registry.address, **options})

    def rows(self, form: str, **more: str) -> list[dict[str, Any]]:
        source = self.source(form, **more)
        schema = source.schema()
        assert isinstance(schema, StructType)
        reader = source.reader(schema)
        found: list[Any] = [batch for split in reader.partitions() for batch in reader.read(split)]
        return [row for batch in found for row in batch.to_pylist()]


@pytest.fixture
def orders(node: RunningNode, registry: RegistryProcess) -> Orders:
    return Orders(node, registry)


def test_versions_of_avro_side_by_side(orders: Orders) -> None:
    orders.send(orders.avro(FIRST, id=1, user="ada"))
    orders.send(orders.avro(SECOND, id=2, user="bob", level=1), None)
    found = [(each["id"], each["user"], each["level"]) for each in orders.rows("avro")]
    assert found == [(1, "ada", 7), (2, "bob", 1), (None, None, None)]  # a tombstone has no fields
    older = orders.rows("avro", schemaVersion="1")
    assert [each["id"] for each in older] == [1, 2, None] and "level" not in older[0]
    inside = orders.rows("avro", valueColumn="order")
    assert inside[0]["order"] == {"id": 1, "user": "ada", "level": 7}


def test_what_does_not_fit_is_kept_dropped_or_an_error(orders: Orders) -> None:
    orders.send(orders.avro(FIRST, id=1, user="ada"), b"no id", b"\0\0\0\xff\xff\xff")
    found = orders.rows("avro")
    assert [each["id"] for each in found] == [1, None, None]
    assert "no schema id" in found[1]["_bad"]["reason"] and found[1]["_bad"]["value"] == b"no id"
    assert found[0]["_bad"] is None and found[2]["_bad"] is not None
    assert [each["id"] for each in orders.rows("avro", valueMode="DROPMALFORMED")] == [1]
    with pytest.raises(PipelineError, match=f"{orders.topic}"):
        orders.rows("avro", valueMode="FAILFAST")


def test_objects_of_json_schema(orders: Orders) -> None:
    orders.send(orders.json(id=1, user="ada"), orders.json(id=2))
    assert [(each["id"], each["user"]) for each in orders.rows("json-schema")] == [(1, "ada"), (2, None)]


def test_a_value_as_text_of_json(orders: Orders) -> None:
    """Without a valueFormat a registry makes the value readable, whatever its schema is."""
    orders.send(orders.avro(FIRST, id=1, user="ada"), None)
    options = {"kafka.bootstrap.servers": orders.node.bootstrap, "subscribe": orders.topic}
    source = BarnabasDataSource({"registry": orders.registry.address, **options})
    reader = source.reader(COLUMNS)
    found: list[Any] = [batch for split in reader.partitions() for batch in reader.read(split)]
    values = [row["value"] for batch in found for row in batch.to_pylist()]
    assert json.loads(values[0]) == {"id": 1, "user": "ada"} and values[1] is None


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"valueSubject": "nobody-value"}, "nobody-value"),
        ({"schemaVersion": "9"}, "9"),
        ({"schemaVersion": "newest"}, "schemaVersion is the number of a version"),
        ({"registry": f"http://127.0.0.1:{free_port()}"}, "registry"),
        ({"registry": ""}, "valueFormat avro needs valueSchema"),
    ],
)
def test_a_schema_that_cannot_be_had(orders: Orders, more: dict[str, str], told: str) -> None:
    orders.send(orders.avro(FIRST, id=1, user="ada"))
    with pytest.raises(PipelineError, match=told):
        orders.rows("avro", **more)


def test_a_column_that_is_not_there_is_refused_before_a_stream_starts(orders: Orders) -> None:
    orders.send(orders.avro(FIRST, id=1, user="ada"))
    source = orders.source("avro")
    schema = source.schema()
    assert isinstance(schema, StructType)
    assert isinstance(source.streamReader(schema), BarnabasStreamReader)
    wrong = StructType().add("nothing", "string")
    with pytest.raises(PipelineError, match="has no column 'nothing'"):
        source.reader(wrong)
    assert isinstance(source.streamReader(wrong), RefusedStreamReader)


def test_ids_of_schemas_in_headers(orders: Orders) -> None:
    """The value is plain then; beside it are records with the id before the data, without either, and damaged."""
    framed = orders.avro(FIRST, id=1, user="ada")
    header = framing.guid_header(Registry(orders.registry.address).version(f"{orders.topic}-value").guid)
    plain = framed[framing.PREFIX_BYTES :]
    with Producer(orders.node.bootstrap) as producer:
        for value, told in ((plain, header), (framed, None), (None, header), (plain, b"\x01short"), (b"\xff", header)):
            headers = {"trace": b"1"} if told is None else {framing.HEADER_NAMES["value"]: told, "trace": b"1"}
            producer.send(orders.topic, value, partition=0, headers=headers)
    found = orders.rows("avro", includeHeaders="true")
    assert [each["id"] for each in found] == [1, 1, None, None, None]
    assert [each["_bad"] is None for each in found] == [True, True, True, False, False]
    assert "not a value of schema" in found[4]["_bad"]["reason"]
    assert {each["key"]: each["value"] for each in found[0]["headers"]} == {
        framing.HEADER_NAMES["value"]: header,
        "trace": b"1",
    }
    options = {"kafka.bootstrap.servers": orders.node.bootstrap, "subscribe": orders.topic}
    source = BarnabasDataSource({"registry": orders.registry.address, **options})
    reader = source.reader(COLUMNS)
    batches: list[Any] = [batch for split in reader.partitions() for batch in reader.read(split)]
    values = [row["value"] for batch in batches for row in batch.to_pylist()]
    assert json.loads(values[0]) == {"id": 1, "user": "ada"} and values[3] == plain  # what cannot be read stays


def test_a_schema_of_another_format_than_was_asked_for(orders: Orders) -> None:
    orders.send(orders.json(id=1))
    with pytest.raises(PipelineError, match=r"valueFormat is avro, and the schema of .* is JSON"):
        orders.rows("avro")
