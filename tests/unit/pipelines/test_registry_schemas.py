"""Columns from JSON Schemas, schemas from columns, and what a later version keeps of an earlier one."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

pytest.importorskip("pyspark")

from google.protobuf import descriptor_pb2, descriptor_pool
from pyspark.sql import types

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.options import parse_registry, subject_of, version_of
from barnabas.pipelines.sink.values.avro import avro_schema, avro_writer
from barnabas.pipelines.sink.values.json_schema import json_schema, json_writer
from barnabas.pipelines.sink.values.protobuf import protobuf_schema
from barnabas.pipelines.sink.values.same import same_type
from barnabas.pipelines.source.values.avro import avro_type
from barnabas.pipelines.source.values.json_schema import columns_of

ORDER = types.StructType(
    [
        types.StructField("id", types.LongType()),
        types.StructField("user", types.StringType()),
        types.StructField("tags", types.ArrayType(types.StringType())),
        types.StructField("place", types.StructType([types.StructField("city", types.StringType())])),
        types.StructField("counts", types.MapType(types.StringType(), types.LongType())),
        types.StructField("at", types.TimestampType()),
    ]
)


def columns(**properties: Any) -> str:
    found: str = columns_of({"type": "object", "properties": properties}, {}).simpleString()
    return found


def test_columns_of_a_json_schema() -> None:
    assert columns(
        a={"type": "integer"},
        b={"type": ["null", "number"]},
        c={"oneOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
        d={"type": "array", "items": {"type": "object", "properties": {"x": {"type": "boolean"}}}},
        e={"type": "object", "additionalProperties": {"type": "string"}},
        f={"enum": ["red", "green"]},
        g={"type": "string", "contentEncoding": "base64"},
    ) == ("struct<a:bigint,b:double,c:date,d:array<struct<x:boolean>>,e:map<string,string>,f:string,g:binary>")


def test_references_within_and_between_schemas() -> None:
    other = {"definitions": {"city": {"type": "string"}}, "properties": {"city": {"$ref": "#/definitions/city"}}}
    schema = {
        "type": "object",
        "properties": {"place": {"$ref": "http://example.com/place.json"}, "home": {"$ref": "#/$defs/a~1b"}},
        "$defs": {"a/b": {"type": "integer"}},
    }
    found = columns_of(schema, {"place.json": other})
    assert found.simpleString() == "struct<place:struct<city:string>,home:bigint>"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "string"}, "not of an object"),
        ({"properties": {"a": {"type": ["string", "integer"]}}}, "the schema.a: a value of several types"),
        ({"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}}, "a choice of several"),
        ({"properties": {"a": {"$ref": "#"}}}, "the schema.a contains itself"),
        ({"properties": {"a": {"$ref": "#/definitions/x"}}}, "there is nothing"),
        ({"properties": {"a": {"$ref": "other.json"}}}, "no reference of the schema"),
        ({"properties": {"a": {"type": "array"}}}, r"the schema.a\[\]: a schema that allows anything"),
        ({"properties": {"a": True}}, "allows anything"),
    ],
)
def test_what_has_no_column_type_is_named(schema: Any, told: str) -> None:
    with pytest.raises(PipelineError, match=told):
        columns_of(schema, {})


def test_avro_of_columns_and_back() -> None:
    text = avro_schema(ORDER, "orders-value", None)
    assert json.loads(text)["name"] == "orders"
    assert same_type(avro_type(text), ORDER)
    data = avro_writer(text, b"\0\0\0\0\1")({"id": 1, "user": None, "tags": ["a"], "counts": {"x": 1}})
    assert (
        data
        == b"\0\0\0\0\1" + b"\x02\x02" + b"\x00" + b"\x02\x02\x02\x02a\x00" + b"\x00" + b"\x02\x02\x02x\x02\x02\x00\x00"
    )


def test_avro_keeps_what_has_not_changed() -> None:
    user = {"name": "user", "type": "string", "default": "nobody", "doc": "who"}
    amount = {"name": "amount", "type": "int"}
    latest = {"type": "record", "name": "Order", "namespace": "shop", "fields": [user, amount]}
    kind = types.StructType().add("user", "string").add("amount", "string").add("note", "string")
    found = json.loads(avro_schema(kind, "orders-value", json.dumps(latest)))
    assert (found["name"], found["namespace"], found["fields"][0]) == ("Order", "shop", user)
    assert found["fields"][1:] == [
        {"name": name, "type": ["null", "string"], "default": None} for name in ("amount", "note")
    ]
    with pytest.raises(PipelineError, match="'a b' cannot be a field of Avro"):
        avro_schema(types.StructType().add("a b", "string"), "x", None)


def test_json_schema_of_columns_and_back() -> None:
    schema = json.loads(json_schema(ORDER, "orders-value", None))
    assert schema["additionalProperties"] is False and schema["title"] == "orders"
    assert same_type(columns_of(schema, {}), ORDER)
    write = json_writer(b"\0\0\0\0\2", None)
    assert write({"id": 1, "user": None, "place": {"city": "Rome"}, "data": b"\0"}) == (
        b'\0\0\0\0\2{"id":1,"place":{"city":"Rome"},"data":"AA=="}'
    )


def test_json_schema_keeps_what_has_not_changed() -> None:
    latest = {
        "type": "object",
        "properties": {"user": {"$ref": "#/definitions/name"}, "old": {"type": "string"}},
        "definitions": {"name": {"type": "string", "minLength": 1}},
    }
    kind = types.StructType().add("user", "string").add("note", "string")
    found = json.loads(json_schema(kind, "x-value", json.dumps(latest)))
    assert found["properties"] == {"user": {"$ref": "#/definitions/name"}, "note": {"type": "string"}}
    assert found["definitions"] == latest["definitions"]


def described(text: str) -> Any:
    from google.protobuf import timestamp_pb2

    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    return next(iter(pool.FindFileByName(file.name).message_types_by_name.values()))


def test_protobuf_numbers_are_for_ever() -> None:
    first = described(protobuf_schema(ORDER, "orders-value", None))
    assert {each.name: each.number for each in first.fields} == {
        name: number for number, name in enumerate(ORDER.names, 1)
    }
    assert all(each.has_presence for each in first.fields if each.name in ("id", "user", "place", "at"))
    fewer = types.StructType([ORDER["at"], types.StructField("new", types.StringType()), ORDER["id"]])
    second = described(protobuf_schema(fewer, "orders-value", first))
    assert {each.name: each.number for each in second.fields} == {"at": 6, "new": 7, "id": 1}
    assert second.full_name == first.full_name == "orders"


def test_options() -> None:
    found = parse_registry({"registry": "http://u:secret@h:1", "registry.basic.auth.user.info": "u:secret"})
    assert found is not None and "secret" not in repr(found)
    assert parse_registry({}) is None
    with pytest.raises(PipelineError, match="valueSubject needs registry"):
        parse_registry({"valuesubject": "x"})
    with pytest.raises(PipelineError, match=r"registry\.timeout needs registry"):
        parse_registry({"registry.timeout": "1"})
    assert (version_of({}), version_of({"schemaversion": "Latest"}), version_of({"schemaversion": "3"})) == (
        None,
        "latest",
        3,
    )
    assert (subject_of({}, "orders"), subject_of({"valuesubject": "s"}, None)) == ("orders-value", "s")
    with pytest.raises(PipelineError, match="valueSubject"):
        subject_of({}, None)
