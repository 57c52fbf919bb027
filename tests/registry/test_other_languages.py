"""Clients of a registry that nobody here wrote, in JavaScript and Go; what one of them writes, Python's reads."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from typing import Any  # values of records

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from grpc_tools import protoc  # type: ignore[import-untyped]

from tests.support.js import RegistryJs
from tests.support.paths import go_program
from tests.support.registry import RegistryProcess


def avro(*fields: tuple[str, str, Any]) -> str:
    described = [
        {"name": name, "type": type} | ({"default": default} if default is not ... else {})
        for name, type, default in fields
    ]
    return json.dumps({"type": "record", "name": "Order", "fields": described})


def json_schema(**properties: str) -> str:
    described = {name: {"type": type} for name, type in properties.items()}
    return json.dumps({"type": "object", "title": "Order", "additionalProperties": False, "properties": described})


def proto(fields: str) -> str:
    return f'syntax = "proto3";\npackage shop;\n\nmessage Order {{\n  {fields}\n}}\n'


# Of each format: a schema, one that reads it, and one that does not.
SCHEMAS = {
    "AVRO": (
        avro(("id", "string", ...), ("count", "int", ...)),
        avro(("id", "string", ...), ("count", "int", ...), ("note", "string", "")),
        avro(("id", "int", ...), ("count", "int", ...)),
    ),
    "JSON": (json_schema(id="string"), json_schema(id="string", count="number"), json_schema(id="number")),
    "PROTOBUF": (proto("string id = 1;"), proto("string id = 1;\n  int32 count = 2;"), proto("int64 id = 1;")),
}
VALUE = {"id": "o-1", "count": 3}


@pytest.fixture(scope="module")
def js() -> Iterator[RegistryJs]:
    running = RegistryJs()
    try:
        yield running
    finally:
        running.close()


@pytest.fixture(scope="module")
def order(tmp_path_factory: pytest.TempPathFactory) -> tuple[type[Message], bytes]:
    """A class that protoc made of two files, and their descriptors."""
    folder = tmp_path_factory.mktemp("protoc")
    (folder / "money.proto").write_text(
        'syntax = "proto3"; package money; message Amount { int64 cents = 1; string currency = 2; }'
    )
    (folder / "order.proto").write_text("""syntax = "proto3"; package shop; import "money.proto";
        message Customer { string name = 1; }
        message Order { string id = 1; money.Amount total = 2; map<string, int32> lines = 3;
        oneof paid { string card = 4; bool cash = 5; } optional int32 count = 6; }""")
    output = folder / "set"
    assert protoc.main(["protoc", f"-I{folder}", "--include_imports", f"-o{output}", "order.proto"]) == 0
    descriptors = output.read_bytes()
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptors).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName("shop.Order")), descriptors


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("type", SCHEMAS)
def test_every_call_of_confluents_javascript(js: RegistryJs, registry: RegistryProcess, type: str) -> None:
    said = js.job("tour", url=registry.address, subject=f"js-{type}-value", type=type, schemas=SCHEMAS[type])
    assert said["id"] == said["again"] != said["second"] and said["found"] == said["second"]
    assert (said["versions"], said["version"], said["latest"]) == ([1, 2], 2, 2)
    assert said["text"].replace(" ", "") == SCHEMAS[type][0].replace(" ", "")
    assert said["guid"].replace(" ", "") == SCHEMAS[type][1].replace(" ", "")
    assert (said["listed"], said["compatible"], said["incompatible"], said["third"]) == (True, True, False, True)
    assert (said["refused"]["status"], said["refused"]["code"]) == (409, 409)
    assert said["level"] == "NONE"
    assert (said["deleted"], said["soft"], said["hard"]) == (1, [2, 3], [1, 2, 3])
    assert (said["gone"]["status"], said["gone"]["code"]) == (404, 40401)


@pytest.mark.parametrize("type", ["AVRO", "JSON"])
def test_javascript_and_python_read_each_other(
    js: RegistryJs, registry: RegistryProcess, client: SchemaRegistryClient, type: str
) -> None:
    topic, text = f"js-both-{type}", SCHEMAS[type][0 if type == "AVRO" else 1]
    client.register_schema(f"{topic}-value", Schema(text, type))
    sent = base64.b64decode(js.job("serialize", url=registry.address, topic=topic, type=type, value=VALUE))
    read = AvroDeserializer(client) if type == "AVRO" else JSONDeserializer(None, schema_registry_client=client)
    assert read(sent, context(topic)) == VALUE
    write = AvroSerializer(client, text) if type == "AVRO" else JSONSerializer(text, client)
    data = write(VALUE, context(topic))
    assert data[:5] == sent[:5]
    assert js.job("deserialize", url=registry.address, topic=topic, type=type, bytes=encoded(data)) == VALUE


def test_protobuf_with_an_import_from_javascript_and_from_python(
    js: RegistryJs, registry: RegistryProcess, client: SchemaRegistryClient, order: tuple[type[Message], bytes]
) -> None:
    """Both register the descriptors of their classes, in base64, the imported file first; it is one schema."""
    kind, descriptors = order
    value = {"id": "o-1", "total": {"cents": 250, "currency": "EUR"}, "lines": {"a": 1}, "count": 0}
    topic = "js-proto"
    sent = js.job(
        "serializeProtobuf",
        url=registry.address,
        topic=topic,
        message="shop.Order",
        descriptors=encoded(descriptors),
        value=value | {"cash": True},
    )
    read = ProtobufDeserializer(kind, {"use.deprecated.format": False}, client)(base64.b64decode(sent), context(topic))
    assert (read.id, read.total.cents, dict(read.lines)) == ("o-1", 250, {"a": 1})
    assert read.cash and read.HasField("count")
    message = kind(**value, card="c")
    data = ProtobufSerializer(kind, client, {"use.deprecated.format": False})(message, context(topic))
    back = js.job("deserialize", url=registry.address, topic=topic, type="PROTOBUF", bytes=encoded(data))
    assert back["type"] == "shop.Order"
    assert (back["fields"]["id"], back["fields"]["total"]["cents"], back["fields"]["paid"]["case"]) == (
        "o-1",
        250,
        "card",
    )
    latest = client.get_latest_version(f"{topic}-value")
    assert latest.schema.references is not None and latest.schema.schema_str is not None
    assert [each.name for each in latest.schema.references] == ["money.proto"]
    assert latest.schema.schema_str.startswith(
        'syntax = "proto3";\npackage shop;\n\nimport "money.proto";\n\nmessage Customer {'
    )
    assert client.get_latest_version("money.proto").version == 1


@pytest.mark.parametrize("type", SCHEMAS)
def test_the_client_beside_kafkajs(
    js: RegistryJs, registry: RegistryProcess, client: SchemaRegistryClient, type: str
) -> None:
    subject, text = f"kafkajs-{type}-value", SCHEMAS[type][0 if type == "AVRO" else 1]
    said = js.job("kafkajs", url=registry.address, subject=subject, type=type, schema=text, value=VALUE)
    assert said["id"] == said["latest"] == said["numbered"] == said["found"]
    assert said["back"] == VALUE
    if type == "AVRO":
        assert AvroDeserializer(client)(base64.b64decode(said["bytes"]), context("kafkajs")) == VALUE
        data = AvroSerializer(client, text)(VALUE, context(f"kafkajs-{type}"))
        assert js.job("kafkajsDecode", url=registry.address, bytes=encoded(data)) == VALUE


@pytest.mark.parametrize("type", SCHEMAS)
def test_every_call_of_franz_go(registry: RegistryProcess, type: str) -> None:
    command = [str(go_program("registry")), registry.address, f"go-{type}-value", type, *SCHEMAS[type]]
    ran = subprocess.run(command, capture_output=True, timeout=90, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    said = json.loads(ran.stdout)
    assert (said["types"], said["listed"], said["all"]) == (3, True, 2) and said["usages"] >= 1
    assert said["ids"][0] != said["ids"][1] and (said["versions"], said["found"]) == ([1, 2], 2)
    assert said["text"].replace(" ", "") == SCHEMAS[type][0].replace(" ", "")
    assert (said["refused"], said["incompatible"], said["level"]) == (409, True, "FULL_TRANSITIVE")
    assert said["back"] == "o-1" and base64.b64decode(said["bytes"])[:5] == b"\0" + said["ids"][1].to_bytes(4, "big")
    assert (said["left"], said["soft"], said["hard"], said["gone"]) == ([2], [2], [1, 2], 40401)
