"""Tables by the schemas of a real registry, with the task's own decoder in front of PostgreSQL and DuckDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from barnabas import Registry
from barnabas.client.serde.registry.plain import plain_writer
from barnabas.client.serde.registry.schema import Schema, SchemaType
from barnabas.connect.contract import Value
from barnabas.connect.definition.definition import Definition, Format
from barnabas.connect.runtime.decoding import Decoding
from barnabas.connect.shapes import give
from barnabas.testing import running_node
from tests.connect.relational.targets import Target
from tests.support.registry import RegistryProcess

FORMATS: dict[SchemaType, str] = {"AVRO": "avro", "JSON": "json-schema", "PROTOBUF": "protobuf"}
WHEN = "2026-11-18T05:06:07.123456Z"
ID = "6f1e1c1a-0d53-4a0e-9b6e-0f4f6f1b2c3d"


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    folder = tmp_path_factory.mktemp("registry")
    with running_node() as node, RegistryProcess(folder, node.bootstrap) as server:
        assert isinstance(server, RegistryProcess)
        yield Registry(server.address)


class Message:
    """What the decoder needs of a record as librdkafka gives it."""

    def __init__(self, topic: str, offset: int, key: bytes | None, value: bytes | None) -> None:
        self._topic, self._offset, self._key, self._value = topic, offset, key, value

    def topic(self) -> str:
        return self._topic

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self._offset

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def headers(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return 1, 1_700_000_000_000 + self._offset


class Topic:
    """Records of one topic on their way into one target."""

    def __init__(
        self,
        registry: Registry,
        target: Target,
        kind: SchemaType,
        name: str = "orders",
        transform: tuple[dict[str, Value], ...] = (),
        **options: Value,
    ) -> None:
        self._registry, self._name, self._kind = registry, name, kind
        form = Format(key="auto", value=FORMATS[kind], registry=str(registry))
        definition = Definition(
            name="c", side="sink", connector=target.kind, topics=(name,), format=form, transform=transform
        )
        self._decoding = Decoding(definition)
        self._sink = target.sink("c", **{"mode": "append", "metadata": [], **options})
        give(self._sink, self._decoding.shapes)
        self._writer = self._sink.open(name, 0)
        self._offset = 0

    def put(self, schema: object, *values: Value, key: bytes | None = None) -> list[str]:
        """As one batch; the reasons of what was rejected."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        writer = plain_writer(self._registry, Schema(self._kind, text))
        messages = [
            Message(self._name, self._offset + number, key, writer.encode(value, self._name, "value")[0])
            for number, value in enumerate(values)
        ]
        self._offset += len(values)
        records, letters = self._decoding.decoded(self._name, 0, messages)  # type: ignore[arg-type]
        assert not letters
        return [each.reason for each in self._writer.write(records, self._offset)]


def avro(*fields: tuple[str, object], name: str = "Order") -> dict[str, Any]:  # Any: JSON
    made = [{"name": field, "type": kind} for field, kind in fields]
    return {"type": "record", "name": name, "fields": made}


AVRO_TYPES = avro(
    ("id", "long"),
    ("n", "int"),
    ("price", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}),
    ("day", {"type": "int", "logicalType": "date"}),
    ("at", {"type": "long", "logicalType": "timestamp-micros"}),
    ("local", {"type": "long", "logicalType": "local-timestamp-millis"}),
    ("clock", ["null", {"type": "int", "logicalType": "time-millis"}]),
    ("uid", {"type": "string", "logicalType": "uuid"}),
    ("state", {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}),
    ("before", ["null", "State"]),
    ("ratio", ["null", "float"]),
    ("ok", ["null", "boolean"]),
    ("note", ["null", "string"]),
    ("raw", ["null", "bytes"]),
    ("who", ["null", avro(("name", "string"), name="Who")]),
    ("tags", {"type": "array", "items": "string"}),
    ("more", {"type": "map", "values": "long"}),
    ("either", ["null", "int", "string"]),
)
COLUMNS = {
    "postgres": {
        "id": "bigint", "n": "integer", "price": "numeric", "day": "date", "at": "timestamp with time zone",
        "local": "timestamp without time zone", "clock": "time without time zone", "uid": "uuid", "state": "text",
        "before": "text", "ratio": "double precision", "ok": "boolean", "note": "text", "raw": "bytea", "who": "jsonb",
        "tags": "jsonb", "more": "jsonb", "either": "jsonb",
    },
    "duckdb": {
        "id": "bigint", "n": "integer", "price": "decimal(12,2)", "day": "date", "at": "timestamp with time zone",
        "local": "timestamp", "clock": "time", "uid": "uuid", "state": "varchar", "before": "varchar",
        "ratio": "double", "ok": "boolean", "note": "varchar", "raw": "blob", "who": "json", "tags": "json",
        "more": "json", "either": "json",
    },
}  # fmt: skip


def test_avro(registry: Registry, target: Target) -> None:
    """Each type; columns of fields that have no value yet."""
    topic = Topic(registry, target, "AVRO", name=f"avro-{target.kind}", table="orders")
    row: dict[str, Value] = {
        "id": 1, "n": 2, "price": "12.50", "day": "2026-11-18", "at": WHEN, "local": "2026-11-18T05:06:07",
        "clock": None, "uid": ID, "state": "NEW", "before": None, "ratio": None, "ok": None, "note": None, "raw": None,
        "who": None, "tags": [], "more": {}, "either": None,
    }  # fmt: skip
    assert topic.put(AVRO_TYPES, row) == []
    found = target.types("orders")
    assert found == COLUMNS[target.kind]
    assert target.execute("select * from orders")[0][:4] == (1, 2, Decimal("12.50"), date(2026, 11, 18))
    rest = {"id": 2, "clock": "01:02:03", "before": "PAID", "ratio": 0.5, "ok": True, "note": "é", "raw": "aGkA"}
    rest |= {"who": {"name": "a"}, "tags": ["x"], "more": {"m": 1}, "either": "text", "price": "-1.05"}
    assert topic.put(AVRO_TYPES, {**row, **rest}) == []
    (got,) = target.execute("select price, day, local, clock, uid, raw, before, ratio, ok, note from orders where id=2")
    assert got[:4] == (Decimal("-1.05"), date(2026, 11, 18), datetime(2026, 11, 18, 5, 6, 7), time(1, 2, 3))
    assert got[4:] == (UUID(ID), b"hi\0", "PAID", 0.5, True, "é")
    (at,) = target.execute('select epoch("at") from orders' if target.kind == "duckdb" else "select at from orders")[0]
    expected = datetime(2026, 11, 18, 5, 6, 7, 123456, UTC)
    assert at == (expected.timestamp() if target.kind == "duckdb" else expected)
    (who,) = target.execute("select who from orders where id = 2")[0]
    assert (json.loads(who) if isinstance(who, str) else who) == {"name": "a"}


def test_a_new_version_adds_columns(registry: Registry, target: Target) -> None:
    """With the first record that is written by it, though the new fields are null; what a version drops stays."""
    topic = Topic(registry, target, "AVRO", name=f"versions-{target.kind}", table="orders")
    price = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 1}
    assert topic.put(avro(("id", "long"), ("old", "string")), {"id": 1, "old": "x"}) == []
    second = avro(("id", "long"), ("price", ["null", price]), ("day", ["null", {"type": "int", "logicalType": "date"}]))
    second["fields"][1]["default"] = second["fields"][2]["default"] = None
    assert topic.put(second, {"id": 2, "price": None, "day": None}) == []
    types = target.types("orders")
    assert set(types) == {"id", "old", "price", "day"}
    assert types["day"] == "date"
    assert topic.put(second, {"id": 3, "price": "1.5", "day": "2026-01-02"}) == []
    assert target.execute("select id, old, price, day from orders order by id") == [
        (1, "x", None, None),
        (2, None, None, None),
        (3, None, Decimal("1.5"), date(2026, 1, 2)),
    ]


JSON_TYPES = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "ratio": {"type": ["number", "null"]},
        "day": {"type": "string", "format": "date"},
        "at": {"oneOf": [{"type": "null"}, {"type": "string", "format": "date-time"}]},
        "uid": {"type": "string", "format": "uuid"},
        "state": {"enum": ["NEW", "PAID"]},
        "who": {"$ref": "#/$defs/who"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "raw": {"type": "string", "contentEncoding": "base64"},
        "ok": {"type": "boolean"},
        "free": {},
    },
    "$defs": {"who": {"type": "object", "properties": {"name": {"type": "string"}}}},
    "required": ["id"],
}


def test_json_schema(registry: Registry, target: Target) -> None:
    """Optional fields that are not there; a field of which the schema says nothing comes with its first value."""
    topic = Topic(registry, target, "JSON", name=f"json-{target.kind}", table="orders")
    assert topic.put(JSON_TYPES, {"id": 1}) == []
    all_types = COLUMNS[target.kind]
    expected = {
        name: all_types[name] for name in ("id", "ratio", "day", "at", "uid", "state", "who", "tags", "raw", "ok")
    }
    assert target.types("orders") == expected
    assert topic.put(JSON_TYPES, {"id": 2, "day": "2026-11-18", "at": WHEN, "uid": ID, "free": 1.5, "ratio": 3}) == []
    assert target.types("orders")["free"] == all_types["ratio"]
    assert target.execute("select day, uid, ratio, free from orders where id = 2") == [
        (date(2026, 11, 18), UUID(ID), 3.0, 1.5)
    ]
    wrong = topic.put(JSON_TYPES, {"id": 3, "day": "2026-11-19"}, {"id": 4, "uid": "7"}, {"id": 5})
    assert len(wrong) == 1 and "uuid" in wrong[0].lower()
    assert target.execute("select id from orders order by id") == [(1,), (2,), (3,), (5,)]


PROTOBUF_TYPES = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Order {
  int64 id = 1;
  int32 n = 2;
  uint64 large = 3;
  google.protobuf.Timestamp at = 4;
  enum State { NEW = 0; PAID = 1; }
  State state = 5;
  optional double ratio = 6;
  bytes raw = 7;
  repeated string tags = 8;
  map<string, int64> more = 9;
  message Who { string name = 1; }
  Who who = 10;
  google.protobuf.Int64Value wrapped = 11;
  bool ok = 12;
}
"""


def test_protobuf(registry: Registry, target: Target) -> None:
    """A field that is 0 is not sent, and is 0 in the table; one with presence is null."""
    topic = Topic(registry, target, "PROTOBUF", name=f"protobuf-{target.kind}", table="orders")
    assert topic.put(PROTOBUF_TYPES, {"id": 1}) == []
    types, known = target.types("orders"), COLUMNS[target.kind]
    large, json_type = ("numeric", "jsonb") if target.kind == "postgres" else ("hugeint", "json")
    assert types == {
        "id": known["id"], "n": known["n"], "large": large, "at": known["at"], "state": known["state"],
        "ratio": known["ratio"], "raw": known["raw"], "tags": json_type, "more": json_type, "who": json_type,
        "wrapped": known["id"], "ok": known["ok"],
    }  # fmt: skip
    row: dict[str, Value] = {"id": 2, "n": 5, "large": 2**64 - 1, "at": WHEN, "state": "PAID", "wrapped": 7}
    assert topic.put(PROTOBUF_TYPES, {**row, "raw": "aGkA", "who": {"name": "a"}}) == []
    got = target.execute("select id, n, large, state, ratio, raw, wrapped, ok from orders order by id")
    assert got == [
        (1, 0, 0, "NEW", None, b"", None, False),
        (2, 5, 2**64 - 1, "PAID", None, b"hi\0", 7, False),
    ]


def test_transformations(registry: Registry, target: Target) -> None:
    """What a step changes has the column of its values; the rest keeps those of the schema."""
    steps = ({"rename": {"day": "sold"}}, {"drop": ["note"]}, {"cast": {"n": "text"}})
    topic = Topic(registry, target, "AVRO", f"steps-{target.kind}", steps, table="orders")
    schema = avro(
        ("id", "int"), ("day", ["null", {"type": "int", "logicalType": "date"}]), ("note", "string"), ("n", "int")
    )
    assert topic.put(schema, {"id": 1, "day": None, "note": "x", "n": 7}) == []
    known = COLUMNS[target.kind]
    assert target.types("orders") == {"id": known["n"], "sold": known["day"], "n": known["note"]}
    assert target.execute("select id, sold, n from orders") == [(1, None, "7")]


def test_a_table_that_is_there(registry: Registry, target: Target) -> None:
    """It is not changed with evolve: false, and a column of another type stays."""
    target.execute("create table orders (id integer, price varchar(20))")
    price = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 1}
    topic = Topic(registry, target, "AVRO", f"there-{target.kind}", table="orders", evolve=False)
    schema = avro(("id", "long"), ("price", price), ("note", ["null", "string"]))
    assert topic.put(schema, {"id": 1, "price": "1.5", "note": None}) == []
    assert set(target.types("orders")) == {"id", "price"}
    assert target.execute("select id, price from orders") == [(1, "1.5")]


def test_upserts_by_a_key(registry: Registry, target: Target) -> None:
    topic = Topic(registry, target, "AVRO", f"upserts-{target.kind}", table="orders", mode="upsert", key_column="id")
    schema = avro(("n", "int"), ("day", ["null", {"type": "int", "logicalType": "date"}]))
    assert topic.put(schema, {"n": 1, "day": None}, {"n": 2, "day": "2026-11-18"}, key=b"k") == []
    known = COLUMNS[target.kind]
    assert target.types("orders") == {"id": known["note"], "n": known["n"], "day": known["day"]}
    assert target.execute("select id, n, day from orders") == [("k", 2, date(2026, 11, 18))]
