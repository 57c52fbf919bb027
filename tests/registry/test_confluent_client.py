"""Confluent's own client: what it calls is answered as its code expects it."""

from __future__ import annotations

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient, SchemaRegistryError
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
ORDER_2 = (
    '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"price","type":"int","default":0}]}'
)
ORDER_BROKEN = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"price","type":"int"}]}'


def test_register_and_read(client: SchemaRegistryClient) -> None:
    subject = "client-orders-value"
    id = client.register_schema(subject, Schema(ORDER, "AVRO"))
    assert client.register_schema("client-others-value", Schema(ORDER, "AVRO")) == id
    assert client.get_schema(id).schema_str == ORDER
    latest = client.get_latest_version(subject)
    assert (latest.version, latest.schema_id, latest.subject) == (1, id, subject)
    assert client.lookup_schema(subject, Schema(ORDER, "AVRO")).version == 1
    assert latest.guid is not None
    assert client.get_schema_by_guid(latest.guid).schema_str == ORDER
    assert client.get_versions(subject) == [1]
    assert subject in client.get_subjects()
    assert client.get_subjects(subject_prefix="client-") == ["client-orders-value", "client-others-value"]
    assert set(client.get_schema_types()) == {"AVRO", "JSON", "PROTOBUF"}
    assert client.get_subjects_by_schema_id(id) == ["client-orders-value", "client-others-value"]
    assert [(each.subject, each.version) for each in client.get_schema_versions(id)] == [
        ("client-orders-value", 1),
        ("client-others-value", 1),
    ]
    assert client.get_contexts() == ["."] or "." in client.get_contexts()


def test_compatibility(client: SchemaRegistryClient) -> None:
    subject = "client-compat-value"
    client.register_schema(subject, Schema(ORDER, "AVRO"))
    assert client.test_compatibility(subject, Schema(ORDER_2, "AVRO"))
    assert not client.test_compatibility(subject, Schema(ORDER_BROKEN, "AVRO"))
    assert not client.test_compatibility_all_versions(subject, Schema(ORDER_BROKEN, "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema(ORDER_BROKEN, "AVRO"))
    assert refused.value.http_status_code == 409
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in refused.value.error_message
    client.set_compatibility(subject, "NONE")
    assert client.get_compatibility(subject) == "NONE"
    assert client.register_schema(subject, Schema(ORDER_BROKEN, "AVRO")) > 0
    assert client.get_versions(subject) == [1, 2]


def test_delete_softly_then_for_good(client: SchemaRegistryClient) -> None:
    subject = "client-deleted-value"
    id = client.register_schema(subject, Schema(ORDER, "AVRO"))
    client.register_schema(subject, Schema(ORDER_2, "AVRO"))
    with pytest.raises(SchemaRegistryError) as refused:
        client.delete_version(subject, 1, permanent=True)
    assert refused.value.error_code == 40407
    assert client.delete_version(subject, 1) == 1
    assert client.get_versions(subject) == [2]
    assert client.get_versions(subject, deleted=True) == [1, 2]
    client.clear_caches()
    assert client.get_schema(id).schema_str == ORDER  # data with it can still be read
    assert client.delete_version(subject, 1, permanent=True) == 1
    assert client.delete_subject(subject) == [2]
    with pytest.raises(SchemaRegistryError) as refused:
        client.delete_subject(subject)
    assert refused.value.error_code == 40404
    assert subject not in client.get_subjects()
    assert subject in client.get_subjects(deleted=True)
    assert client.delete_subject(subject, permanent=True) == [2]
    assert subject not in client.get_subjects(deleted=True)
    with pytest.raises(SchemaRegistryError) as refused:
        client.get_versions(subject)
    assert refused.value.error_code == 40401


def test_references(client: SchemaRegistryClient) -> None:
    client.register_schema(
        "client-address", Schema('{"type":"record","name":"Address","namespace":"shop","fields":[]}', "AVRO")
    )
    whole = '{"type":"record","name":"Person","namespace":"shop","fields":[{"name":"home","type":"Address"}]}'
    named = [SchemaReference("shop.Address", "client-address", 1)]
    id = client.register_schema("client-person", Schema(whole, "AVRO", named))
    assert client.get_schema(id).references == named
    assert client.get_referenced_by("client-address", 1) == [id]
    with pytest.raises(SchemaRegistryError) as refused:
        client.delete_subject("client-address")
    assert refused.value.error_code == 42206


def test_modes(client: SchemaRegistryClient) -> None:
    subject = "client-modes-value"
    client.register_schema(subject, Schema(ORDER, "AVRO"))
    assert client.update_mode(subject, "READONLY") == "READONLY"
    assert client.get_mode(subject) == "READONLY"
    assert client.register_schema(subject, Schema(ORDER, "AVRO")) > 0  # it is there already
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema(subject, Schema(ORDER_2, "AVRO"))
    assert refused.value.error_code == 42205
    client.delete_mode(subject)
    assert client.get_global_mode() == "READWRITE"
    assert client.register_schema(subject, Schema(ORDER_2, "AVRO")) > 0


def test_serializers(client: SchemaRegistryClient) -> None:
    context = SerializationContext("client-typed", MessageField.VALUE)
    written = AvroSerializer(client, ORDER)({"id": 7}, context)
    assert written is not None and written[0] == 0
    assert AvroDeserializer(client)(written, context) == {"id": 7}
