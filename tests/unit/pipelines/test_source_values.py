"""Values decoded into columns, the good and the bad, without Spark."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, timestamp_pb2
from pyspark.sql import types as t

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.arrow import ColumnMaker
from barnabas.pipelines.source.columns import check_wanted, schema_of
from barnabas.pipelines.source.decoding import Records, chunks, decode
from barnabas.pipelines.source.options import parse_options
from barnabas.pipelines.source.values.bad import Bad
from barnabas.pipelines.source.values.ddl import without_not_null
from barnabas.pipelines.source.values.json import JsonDecoder
from barnabas.pipelines.source.values.protobuf import message_class
from barnabas.pipelines.source.values.settings import ValueOptions, own_type
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import Record, build_batch

ORDER = t.StructType([t.StructField("user", t.StringType()), t.StructField("amount", t.LongType())])
BAD = t.StructType([t.StructField("reason", t.StringType()), t.StructField("value", t.BinaryType())])


def records_of(*values: bytes | None) -> Records:
    batch = bytes(build_batch([Record(at, 0, None, value) for at, value in enumerate(values)]))
    (chunk,) = chunks(batch, iter_batches(batch))
    (records,) = decode(chunk)
    return records


def decoded(options: ValueOptions, wanted: t.StructType, *values: bytes | None) -> list[dict[str, Any]]:
    maker = ColumnMaker(wanted, "orders", 3, options)
    rows: list[dict[str, Any]] = maker.batch(records_of(*values)).to_pylist()
    return rows


def json_orders(mode: str = "PERMISSIVE") -> ValueOptions:
    return ValueOptions("json", "user STRING, amount BIGINT", mode=mode)


def test_good_json_is_read_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JsonDecoder, "decode_one", None)  # one by one would fail
    rows = decoded(
        json_orders(),
        t.StructType([*ORDER.fields, t.StructField("_bad", BAD), t.StructField("offset", t.LongType())]),
        b'{"user": "ada", "amount": 3}',
        b'{"amount": null, "more": {"x": [1]}, "user": "l\\nf\\u00e9"}',
        b'{\n  "user": "pretty"\n}',
        b"{}",
    )
    assert rows == [
        {"user": "ada", "amount": 3, "_bad": None, "offset": 0},
        {"user": "l\nfé", "amount": None, "_bad": None, "offset": 1},
        {"user": "pretty", "amount": None, "_bad": None, "offset": 2},
        {"user": None, "amount": None, "_bad": None, "offset": 3},
    ]


BROKEN = {
    b"": "not JSON: Expecting value: line 1 column 1 (char 0)",
    b"[1]": "a JSON object is wanted, not list",
    b'{"amount": "three"}': "amount: 'three' is not bigint",
    b'{"amount": 1.5}': "amount: 1.5 is not bigint",
    b'{"user": 7}': "user: 7 is not string",
    b'{"amount": 1}{"amount": 2}': "not JSON: Extra data: line 1 column 14 (char 13)",
    b"\xff\xfe{": "not JSON: ",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda value: value.decode("latin-1"))
def test_a_bad_record_is_shown_and_its_neighbours_are_not_touched(broken: bytes) -> None:
    wanted = t.StructType([*ORDER.fields, t.StructField("_bad", BAD)])
    good = b'{"user": "ada", "amount": 1}'
    before, bad, tombstone, after = decoded(json_orders(), wanted, good, broken, None, good)
    assert before == after == {"user": "ada", "amount": 1, "_bad": None}
    assert tombstone == {"user": None, "amount": None, "_bad": None}
    assert bad["user"] is None and bad["amount"] is None and bad["_bad"]["value"] == broken
    assert bad["_bad"]["reason"].startswith(BROKEN[broken])

    kept = decoded(json_orders("DROPMALFORMED"), ORDER, good, broken, good)
    assert kept == [{"user": "ada", "amount": 1}] * 2
    with pytest.raises(PipelineError, match=r"orders-3 at offset 1: .*; the value is "):
        decoded(json_orders("FAILFAST"), ORDER, good, broken)


def test_two_objects_in_one_value_and_none_in_another_do_not_shift_the_rows() -> None:
    wanted = t.StructType([*ORDER.fields, t.StructField("_bad", BAD)])
    rows = decoded(json_orders(), wanted, b'{"amount": 1}{"amount": 2}', b" ", b'{"amount": 3}')
    assert [row["amount"] for row in rows] == [None, None, 3]


def test_types_of_json_one_by_one_and_at_once_agree() -> None:
    kind = t.StructType(
        [
            t.StructField("at", t.TimestampType()),
            t.StructField("score", t.DoubleType()),
            t.StructField("small", t.ByteType()),
            t.StructField("yes", t.BooleanType()),
            t.StructField("tags", t.ArrayType(t.StringType())),
            t.StructField("inner", t.StructType([t.StructField("deep", t.IntegerType())])),
        ]
    )
    good = json.dumps(
        {"at": "2026-01-02T03:04:05Z", "score": 2, "small": 7, "yes": True, "tags": ["a"], "inner": {"deep": 1}}
    ).encode()
    wanted = {
        "at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "score": 2.0,
        "small": 7,
        "yes": True,
        "tags": ["a"],
        "inner": {"deep": 1},
    }
    options = ValueOptions("json", "...")
    assert decoded(options, kind, good) == [wanted]
    assert decoded(options, kind, good, b"{}", None)[0] == wanted  # the tombstone makes it go one by one
    with_bad = t.StructType([*kind.fields, t.StructField("_bad", BAD)])
    for wrong in (b'{"small": 300}', b'{"at": "noon"}', b'{"tags": "a"}', b'{"inner": {"deep": 1.5}}', b'{"yes": 1}'):
        assert decoded(options, with_bad, wrong)[0]["_bad"]["reason"], wrong


AVRO = {
    "type": "record",
    "name": "com.example.Order",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "amount", "type": ["null", "double"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]}},
        {"name": "before", "type": "Kind"},
        {"name": "lines", "type": {"type": "array", "items": {"type": "map", "values": "int"}}},
    ],
}
AVRO_ROW = {
    "user": "ada",
    "amount": None,
    "at": datetime(2026, 1, 2, tzinfo=UTC),
    "price": Decimal("12.50"),
    "kind": "NEW",
    "before": "OLD",
    "lines": [{"a": 1}],
}


def test_avro_values() -> None:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(AVRO), AVRO_ROW)
    options = ValueOptions("avro", json.dumps(AVRO))
    kind = own_type(options)
    assert kind.simpleString() == (
        "struct<user:string,amount:double,at:timestamp,price:decimal(9,2),kind:string,before:string,"
        "lines:array<map<string,int>>>"
    )
    wanted = t.StructType([*kind.fields, t.StructField("_bad", BAD)])
    good, cut, longer = decoded(options, wanted, out.getvalue(), out.getvalue()[:5], out.getvalue() + b"x")
    assert good == {**AVRO_ROW, "lines": [[("a", 1)]], "_bad": None}
    assert cut["_bad"]["reason"].startswith("not Avro of this schema")
    assert longer["_bad"]["reason"] == "1 bytes after the Avro record"
    framed = ValueOptions("avro", json.dumps(AVRO), confluent=True)
    rows = decoded(framed, wanted, b"\0\0\0\0\7" + out.getvalue(), out.getvalue())
    assert rows[0] == good and "no schema number" in rows[1]["_bad"]["reason"]


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ('{"type": "record"', "not an Avro schema"),
        ('"string"', "an Avro record is wanted"),
        ('{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["int", "string"]}]}', "a union of several"),
        ('{"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "r"]}]}', "contains itself"),
    ],
)
def test_avro_schemas_that_make_no_columns(schema: str, told: str) -> None:
    with pytest.raises(PipelineError, match=told):
        own_type(ValueOptions("avro", schema))


def descriptor_set() -> bytes:
    """What `protoc --include_imports --descriptor_set_out` writes for a small file."""
    files = descriptor_pb2.FileDescriptorSet()
    timestamp_pb2.DESCRIPTOR.CopyToProto(files.file.add())
    made = files.file.add(
        name="shop.proto", package="shop", syntax="proto3", dependency=["google/protobuf/timestamp.proto"]
    )
    made.enum_type.add(name="Kind").value.extend(
        [
            descriptor_pb2.EnumValueDescriptorProto(name="NEW", number=0),
            descriptor_pb2.EnumValueDescriptorProto(name="OLD", number=1),
        ]
    )
    order = made.message_type.add(name="Order")
    line = made.message_type.add(name="Line")
    field = descriptor_pb2.FieldDescriptorProto
    line.field.add(name="count", number=1, type=field.TYPE_UINT32, label=field.LABEL_OPTIONAL)
    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    order.field.add(name="user", number=1, type=field.TYPE_STRING, label=one)
    order.field.add(name="total", number=2, type=field.TYPE_UINT64, label=one)
    order.field.add(name="kind", number=3, type=field.TYPE_ENUM, type_name=".shop.Kind", label=one)
    order.field.add(name="lines", number=4, type=field.TYPE_MESSAGE, type_name=".shop.Line", label=many)
    order.field.add(name="best", number=5, type=field.TYPE_MESSAGE, type_name=".shop.Line", label=one)
    stamp = ".google.protobuf.Timestamp"
    order.field.add(name="at", number=6, type=field.TYPE_MESSAGE, type_name=stamp, label=one)
    return files.SerializeToString()


def test_protobuf_values() -> None:
    options = ValueOptions("protobuf", descriptor_set(), message="shop.Order")
    kind = own_type(options)
    assert kind.simpleString() == (
        "struct<user:string,total:decimal(20,0),kind:string,lines:array<struct<count:bigint>>,"
        "best:struct<count:bigint>,at:timestamp>"
    )
    order = message_class(options)(user="ada", total=2**64 - 1, kind=1)
    order.lines.add(count=2)
    order.at.FromDatetime(datetime(2026, 1, 2, tzinfo=UTC))
    wanted = t.StructType([*kind.fields, t.StructField("_bad", BAD)])
    good, empty, bad = decoded(options, wanted, order.SerializeToString(), b"", b"\xff")
    assert good == {
        "user": "ada",
        "total": Decimal(2**64 - 1),
        "kind": "OLD",
        "lines": [{"count": 2}],
        "best": None,
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "_bad": None,
    }
    assert empty["user"] == "" and empty["kind"] == "NEW" and empty["at"] is None and empty["_bad"] is None
    assert bad["_bad"]["reason"].startswith("not a shop.Order")
    framed = ValueOptions("protobuf", descriptor_set(), message="shop.Order", confluent=True)
    assert decoded(framed, wanted, b"\0\0\0\0\7\2\2" + order.SerializeToString())[0] == good


def test_a_message_that_is_not_there() -> None:
    with pytest.raises(
        PipelineError, match=r"shop.Nothing is not in the descriptor set: it has .*shop.Line, shop.Order"
    ):
        own_type(ValueOptions("protobuf", descriptor_set(), message="shop.Nothing"))
    with pytest.raises(PipelineError, match="not a descriptor set"):
        own_type(ValueOptions("protobuf", b"\xff\xff", message="shop.Order"))


def test_columns_and_the_names_that_clash(tmp_path: Path) -> None:
    clash = {"type": "record", "name": "r", "fields": [{"name": "offset", "type": "int"}]}
    with pytest.raises(PipelineError, match="valueSchema has offset, which is a column of the record itself"):
        schema_of(False, ValueOptions("avro", json.dumps(clash)))
    inside = schema_of(False, ValueOptions("avro", json.dumps(clash), column="order"))
    assert isinstance(inside, t.StructType) and inside["order"].dataType.simpleString() == "struct<offset:int>"
    ddl = schema_of(True, ValueOptions("json", "a INT", column="order"))
    assert isinstance(ddl, str) and ddl.endswith("`order` STRUCT<a INT>, `_bad` struct<reason:string,value:binary>")


def test_a_schema_of_the_users_may_only_leave_columns_out() -> None:
    plain = parse_options({"subscribe": "t"}, streaming=False)
    check_wanted(t.StructType([t.StructField("value", t.BinaryType())]), plain)
    with pytest.raises(PipelineError, match="no column 'price': there are key, value, topic"):
        check_wanted(t.StructType([t.StructField("price", t.IntegerType())]), plain)
    with pytest.raises(PipelineError, match="column value is binary, not string"):
        check_wanted(t.StructType([t.StructField("value", t.StringType())]), plain)
    json_read = parse_options({"subscribe": "t", "valueFormat": "json"}, streaming=False)
    check_wanted(t.StructType([t.StructField("price", t.IntegerType())]), json_read)
    batch = ColumnMaker(ORDER, "t", 0, json_read.value).batch(records_of(b'{"user": "x"}'))
    assert batch.schema.field("user").type == pa.string()


@pytest.mark.parametrize(
    ("ddl", "columns", "required"),
    [
        ("a INT", "a INT", set()),
        ("a INT NOT NULL, b INT not  null COMMENT 'NOT NULL,'", "a INT, b INT COMMENT 'NOT NULL,'", {"a", "b"}),
        ("`a, b` DECIMAL(12,4) NOT NULL, c INT", "`a, b` DECIMAL(12,4), c INT", {"a, b"}),
        ("s STRUCT<x: INT NOT NULL>, t MAP<INT, INT> NOT NULL", "s STRUCT<x: INT NOT NULL>, t MAP<INT, INT>", {"t"}),
    ],
)  # fmt: skip
def test_not_null_is_taken_off_the_columns_and_kept_as_a_rule(ddl: str, columns: str, required: set[str]) -> None:
    assert without_not_null(ddl) == (columns, frozenset(required))


def test_a_field_that_is_not_null_must_be_there() -> None:
    options = ValueOptions("json", "user STRING NOT NULL, amount BIGINT")
    wanted = t.StructType([*ORDER.fields, t.StructField("_bad", BAD)])
    rows = decoded(options, wanted, b'{"user": "ada"}', b'{"amount": 3}')
    assert [row["user"] for row in rows] == ["ada", None]
    assert rows[1]["_bad"]["reason"] == "missing: user"


def test_what_arrow_takes_too_easily_is_read_one_by_one() -> None:
    columns = {"day": t.DateType(), "raw": t.BinaryType(), "_bad": BAD}
    wanted = t.StructType([t.StructField(name, kind) for name, kind in columns.items()])
    options = ValueOptions("json", "day DATE, raw BINARY")
    good, number = decoded(options, wanted, b'{"day": "2026-11-17", "raw": "YQ=="}', b'{"day": 7}')
    assert (good["day"].isoformat(), good["raw"], good["_bad"]) == ("2026-11-17", b"a", None)
    assert number["_bad"]["reason"] == "day: 7 is not date"


def test_milliseconds_are_taken_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = t.StructType([t.StructField("time", t.TimestampType()), t.StructField("_bad", BAD)])
    refused = decoded(ValueOptions("json", "time TIMESTAMP"), wanted, b'{"time": 1794833483273}')
    assert refused[0]["_bad"]["reason"] == "time: 1794833483273 is not timestamp"
    monkeypatch.setattr(JsonDecoder, "decode_one", None)  # one by one would fail
    taken = decoded(ValueOptions("json", "time TIMESTAMP", milliseconds=True), wanted, b'{"time": 1794833483273}')
    assert taken[0]["time"] == datetime(2026, 11, 16, 12, 51, 23, 273000, UTC)
    with pytest.raises(PipelineError, match="valueTimestamps is iso or milliseconds"):
        parse_options({"subscribe": "t", "valueFormat": "json", "valueTimestamps": "seconds"}, streaming=False)


def test_dates_and_bytes_are_read_at_once_and_strictly() -> None:
    kind = t.StructType([t.StructField("day", t.DateType()), t.StructField("data", t.BinaryType())])
    decoder = JsonDecoder(kind, pa.struct([("day", pa.date32()), ("data", pa.binary())]))

    def at_once(*values: bytes) -> list[dict[str, Any]] | None:
        records = records_of(*values)
        found = decoder.decode(records, records.values())
        return None if found is None else list(found.to_pylist())

    good = b'{"day":"2026-11-17","data":"YQ=="}'
    assert at_once(good, b"{}") == [{"day": date(2026, 11, 17), "data": b"a"}, {"day": None, "data": None}]
    for text in ('"day":7', '"day":"20261117"', '"day":"2026-02-30"', '"day":"0000-01-01"', '"data":"x"', '"data":7'):
        bad = f"{{{text}}}".encode()
        assert at_once(good, bad) is None, text
        with pytest.raises(Bad):
            decoder.decode_one(bad)
