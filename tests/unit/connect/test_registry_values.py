"""Values of connectors by the schemas of a registry, and records that cannot be written as dead letters."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas import Registry
from barnabas.client.serde.registry.schema import Schema
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.contract import Alike, Record, Value
from barnabas.connect.definition.definition import Definition, Format
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.runtime.encoding import Encoding
from barnabas.connect.runtime.partition_writing import Stopped
from barnabas.connect.values.formats import BadValue, decoder, encoder
from barnabas.testing import RunningNode, running_node
from tests.support.process import free_port
from tests.support.registry import RegistryProcess

AVRO = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"},{"name":"at","type":"string"}]}'
JSON = '{"title":"Order","type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}'
PROTOBUF = 'syntax = "proto3"; message Order { int64 id = 1; string at = 2; }'


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.fixture(scope="module")
def registry(node: RunningNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with RegistryProcess(tmp_path_factory.mktemp("registry"), node.bootstrap) as server:
        assert isinstance(server, RegistryProcess)
        yield server.address


def through(form: Format, value: Value, topic: str) -> Value:
    data = encoder(form, "value")(value, topic)
    return decoder(form, "value")(data, topic, ())


@pytest.mark.parametrize(("kind", "schema"), [("avro", AVRO), ("json-schema", JSON), ("protobuf", PROTOBUF)])
def test_a_value_goes_out_by_its_schema_and_comes_back(registry: str, kind: str, schema: str, tmp_path: Path) -> None:
    value = {"id": 7, "at": "2026-11-18T01:00:00Z"}
    given = {"id": decimal.Decimal(7), "at": datetime.datetime(2026, 11, 18, 1, tzinfo=datetime.UTC)}
    form = Format(value=kind, registry=registry, value_schema=schema)
    assert through(form, value, f"of-{kind}") == value
    if kind == "json-schema":  # a decimal is written as text, which this schema does not take
        with pytest.raises(BadValue):
            encoder(form, "value")(given, f"of-{kind}")
    file = tmp_path / "order.schema"
    file.write_text(schema)
    by_file = Format(value=kind, registry=registry, value_schema=str(file))
    assert through(by_file, value, f"of-{kind}-file") == value
    newest = Format(value=kind, registry=registry)  # what the subject has
    assert through(newest, value, f"of-{kind}") == value
    assert encoder(form, "value")(None, "t") is None and decoder(form, "value")(None, "t", ()) is None


def test_values_that_do_not_fit_and_bytes_that_are_none(registry: str) -> None:
    for kind, schema in (("avro", AVRO), ("json-schema", JSON), ("protobuf", PROTOBUF)):
        form = Format(value=kind, registry=registry, value_schema=schema)
        for value in ({"id": "seven", "at": ""}, [7], "text", {"id": 2**70, "at": ""}, {"id": object()}):
            if (kind, value) != ("json-schema", {"id": 2**70, "at": ""}):  # which has no bounds
                with pytest.raises(BadValue):
                    encoder(form, "value")(value, f"bad-{kind}")
    for data in (b"no frame", b"\0\0\0\x99\x99x"):
        with pytest.raises(BadValue):
            decoder(form, "value")(data, "bad", ())


def test_a_registry_that_is_away_is_waited_for(registry: str) -> None:
    away = Format(value="avro", registry=f"http://127.0.0.1:{free_port()}", value_schema=AVRO)
    with pytest.raises(Unavailable, match="the schema registry"):
        encoder(away, "value")({"id": 1, "at": ""}, "t")
    with pytest.raises(BadOption):
        encoder(Format(value="avro", registry=registry, value_schema="/missing.avsc"), "value")
    Registry(registry).register("known-value", Schema("AVRO", AVRO))
    wrong = Format(value="avro", registry=registry, value_schema='{"type": "recrod"}')
    with pytest.raises((BadOption, BadValue)):
        encoder(wrong, "value")({"id": 1}, "known")


# --- a source's records on their way to a topic ---------------------------------------------------------------------


def encoding(node: RunningNode, **more: Value) -> Encoding:
    definition = Definition(name="orders", side="source", connector="files", topic="orders", **more)
    return Encoding(Cluster(node.bootstrap), definition, 0)


def test_a_record_that_cannot_be_written_becomes_a_dead_letter(node: RunningNode) -> None:
    steps = ({"filter": ".n > 1"}, {"cast": {"n": "int"}})
    made = encoding(node, transform=steps)
    assert made.outgoing(Record({"n": 1})) is None
    good = made.outgoing(Record({"n": 2.0}, "k"))
    assert good is not None and (good.topic, good.key, good.value, good.is_dead) == ("orders", b"k", b'{"n":2}', False)
    for value, shown in (({"n": 5, "x": object()}, b"<object"), ({"n": 9, "x": "\ud800"}, b"ud800")):
        bad = made.outgoing(Record(value, "key"))
        assert bad is not None and bad.is_dead and bad.topic == "orders.dead"
        assert shown in (bad.value or b"") and bad.key == b"key"
    assert not made.keeps_records and made.common(Alike([b"a"], "k", ())) is None
    with pytest.raises(Stopped):
        encoding(node, transform=steps, errors="stop").outgoing(Record({"n": 9, "x": object()}))


def test_a_record_that_is_too_large_is_kept_in_part(node: RunningNode) -> None:
    made = encoding(node)
    whole = made.outgoing(Record(b"x" * 300_000, b"key"))
    assert whole is not None
    letter = made.too_large(whole)
    assert letter.is_dead and len(letter.value or b"") == 100_000 and letter.key == b"key"
    assert any(b"300000 bytes" in (value or b"") for _, value in letter.headers)


def test_lines_of_one_file_are_encoded_together(node: RunningNode) -> None:
    made = encoding(node)
    assert made.keeps_records and made.common(Alike([b"a", b"b"], "file", ())) == ("orders", b"file")
    strict = encoding(node, format=Format(key="text"))
    assert strict.common(Alike([b"a"], {"no": "text"}, ())) is None


def test_what_formats_make_of_rare_values() -> None:
    import ipaddress

    made = encoder(Format(value="json"), "value")
    assert made(None, "t") is None
    assert made(b'{"a":1}', "t") == b'{"a":1}' and made(b"text", "t") == b'"text"'
    assert made({"a": ipaddress.ip_address("::1"), "b": memoryview(b"\xff")}, "t") == b'{"a":"::1","b":"/w=="}'
    text = encoder(Format(value="text"), "value")
    assert (text(b"x", "t"), text(7, "t"), text(None, "t")) == (b"x", b"7", None)
    assert decoder(Format(value="json"), "value")(None, "t", ()) is None
