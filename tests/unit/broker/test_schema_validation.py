"""Produce to a topic that checks schema ids: unknown ones are refused, one that was registered a moment ago is not."""

import struct
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import cramjam
import pytest

from barnabas.broker.schemas import followed
from barnabas.model.errors import ErrorCode
from barnabas.model.settings.topic import SUBJECT_NAME_STRATEGIES
from barnabas.testing import RunningNode, running_node
from barnabas.wire.schema_ids import guid_identifier, id_identifier
from tests.support.schema_records import TOPIC, schema_record
from tests.support.wire import FIND_COORDINATOR, PRODUCE, WireClient, batch, create_topic, produce_body, record
from tests.unit.broker.test_produce_records import end_offset, nobody_waits, one

INCREMENTAL_ALTER_CONFIGS, INIT_PRODUCER_ID, ADD_PARTITIONS, END_TXN, DELETE_TOPICS = 44, 22, 24, 26, 20
CHECKED: dict[str, Any] = {"confluent_value_schema_validation": "true"}
GUID = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as node, WireClient(node.bootstrap) as client:
        create_topic(client, TOPIC, cleanup_policy="compact")
        yield node


@pytest.fixture
def client(node: RunningNode) -> Iterator[WireClient]:
    with WireClient(node.bootstrap) as client:
        yield client


def register(client: WireClient, subject: str, schema_id: int, version: int = 1, **more: Any) -> None:
    key, value = schema_record(subject, version, schema_id, **more)
    assert send(client, TOPIC, batch([value], keys=[key]))["error_code"] == 0


def send(client: WireClient, topic: str, data: bytes) -> dict[str, Any]:
    return one(client.call(PRODUCE, 9, produce_body(topic, data)))


def producer(client: WireClient, name: str | None) -> dict[str, Any]:
    """An idempotent producer, or one with a transactional id; its coordinator may have to be made first."""
    if name is not None:
        until(lambda: client.call(FIND_COORDINATOR, 2, {"key": name, "key_type": 1}))
    body = {"transactional_id": name, "transaction_timeout_ms": 60_000}
    own = until(lambda: client.call(INIT_PRODUCER_ID, 3, body))
    return {"producer_id": own["producer_id"], "producer_epoch": own["producer_epoch"]}


def until(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The first answer without an error: a coordinator may have to be made or to end something first."""
    deadline = time.monotonic() + 10
    while True:
        answer = ask()
        code = answer.get("error_code", answer.get("partition_error_code"))
        if code == 0:
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.02)


def added(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = answer["results_by_topic_v3_and_below"][0]["results_by_partition"][0]
    return found


def framed(schema_id: int, data: bytes = b"data") -> bytes:
    return id_identifier(schema_id) + data


def test_an_unknown_id_is_refused_and_nothing_is_stored(node: RunningNode, client: WireClient) -> None:
    create_topic(client, "orders", **CHECKED)
    register(client, "orders-value", 1)
    assert send(client, "orders", batch([framed(1), None]))["error_code"] == 0
    answer = send(client, "orders", batch([framed(1), framed(404)]))
    assert answer["error_code"] == ErrorCode.INVALID_RECORD
    assert [each["batch_index"] for each in answer["record_errors"]] == [1]
    told = "record 1: schema id 404 of the value is not registered under subject orders-value"
    assert answer["record_errors"][0]["batch_index_error_message"] == told and told in answer["error_message"]
    answer = send(client, "orders", batch([b"plain text"]))
    assert answer["error_code"] == ErrorCode.INVALID_RECORD and "names no schema" in answer["error_message"]
    assert end_offset(node, "orders") == 2
    # Registered a moment ago: the next one passes at once.
    register(client, "orders-value", 404, version=2)
    assert send(client, "orders", batch([framed(1), framed(404)]))["error_code"] == 0
    register(client, "orders-value", 404, version=2, deleted=True)
    register(client, "orders-value", 405, version=3)
    assert send(client, "orders", batch([framed(405)]))["error_code"] == 0  # and so has read the record before it
    assert send(client, "orders", batch([framed(404)]))["error_code"] == ErrorCode.INVALID_RECORD


def test_strategies_keys_and_headers(node: RunningNode, client: WireClient) -> None:
    anywhere: dict[str, Any] = {"confluent_value_subject_name_strategy": SUBJECT_NAME_STRATEGIES[1]}
    create_topic(client, "anywhere", **CHECKED, **anywhere)
    register(client, "com.example.Order", 30, guid=str(GUID))
    assert send(client, "anywhere", batch([framed(30)]))["error_code"] == 0
    by_header = record(0, b"bare", headers=[("__value_schema_id", guid_identifier(GUID.bytes))])
    assert send(client, "anywhere", batch(payload=by_header, count=1, last_offset_delta=0))["error_code"] == 0
    create_topic(client, "keyed", confluent_key_schema_validation="true")
    register(client, "keyed-key", 31)
    assert send(client, "keyed", batch([b"any"], keys=[framed(31)]))["error_code"] == 0
    answer = send(client, "keyed", batch([b"any"], keys=[framed(30)]))
    assert "schema id 30 of the key is not registered under subject keyed-key" in answer["error_message"]


def test_compressed_and_large_batches(node: RunningNode, client: WireClient) -> None:
    create_topic(client, "packed", **CHECKED)
    register(client, "packed-value", 50)
    count = 100_000
    good = b"".join(record(index, framed(50)) for index in range(count))
    bad = good[: -len(record(count - 1, framed(50)))] + record(count - 1, framed(51))
    packed: dict[str, Any] = {"count": count, "last_offset_delta": count - 1, "attributes": 4}
    with nobody_waits(node):
        answer = send(client, "packed", batch(payload=bytes(cramjam.zstd.compress(bad)), **packed))
        assert "record 99999: schema id 51" in answer["error_message"]
        assert send(client, "packed", batch(payload=bytes(cramjam.zstd.compress(good)), **packed))["error_code"] == 0
    assert end_offset(node, "packed") == count


def test_a_refused_batch_consumes_no_sequence(client: WireClient) -> None:
    create_topic(client, "exact", **CHECKED)
    register(client, "exact-value", 60)
    who = producer(client, None)
    assert send(client, "exact", batch([framed(60)], base_sequence=0, **who))["error_code"] == 0
    assert send(client, "exact", batch([framed(61)], base_sequence=1, **who))["error_code"] == ErrorCode.INVALID_RECORD
    assert send(client, "exact", batch([framed(60)], base_sequence=1, **who))["error_code"] == 0
    again = send(client, "exact", batch([framed(60)], base_sequence=1, **who))  # a duplicate is answered as ever
    assert (again["error_code"], again["base_offset"]) == (0, 1)


def test_what_a_transaction_took_back_is_not_registered(client: WireClient) -> None:
    """And while it is open, nobody waits for its end."""
    create_topic(client, "careful", **CHECKED)
    name = "registry"
    who = producer(client, name)

    def write(schema_id: int, sequence: int, commit: bool) -> None:
        named = {f"v3_and_below_{field}": each for field, each in {"transactional_id": name, **who}.items()}
        body = named | {"v3_and_below_topics": [{"name": TOPIC, "partitions": [0]}]}
        until(lambda: added(client.call(ADD_PARTITIONS, 3, body)))
        key, value = schema_record("careful-value", schema_id, schema_id)
        data = batch([value], keys=[key], attributes=16, base_sequence=sequence, **who)
        request = produce_body(TOPIC, data) | {"transactional_id": name}
        assert one(client.call(PRODUCE, 9, request))["error_code"] == 0
        assert send(client, "careful", batch([framed(schema_id)]))["error_code"] == ErrorCode.INVALID_RECORD
        ended = client.call(END_TXN, 3, {"transactional_id": name, **who, "committed": commit})
        assert ended["error_code"] == 0

    write(70, 0, commit=False)
    assert send(client, "careful", batch([framed(70)]))["error_code"] == ErrorCode.INVALID_RECORD
    write(71, 1, commit=True)
    until(lambda: send(client, "careful", batch([framed(71)])))  # EndTxn is answered before its markers are written


def test_a_stranger_in_the_topic_harms_nobody(client: WireClient) -> None:
    create_topic(client, "robust", **CHECKED)
    nonsense = [b"{", b"[" * 100_000, b"null", struct.pack(">q", 7)]
    assert send(client, TOPIC, batch(nonsense, keys=nonsense))["error_code"] == 0
    register(client, "robust-value", 80)
    assert send(client, "robust", batch([framed(80)]))["error_code"] == 0


def test_settings_are_checked_and_shown_where_they_are_set(client: WireClient) -> None:
    configs = [{"name": "confluent.value.subject.name.strategy", "value": "MyStrategy"}]
    topic = {"name": "odd", "num_partitions": 1, "replication_factor": 1, "configs": configs}
    answer = client.call(19, 7, {"topics": [topic], "timeout_ms": 30_000})["topics"][0]
    assert answer["error_code"] == ErrorCode.INVALID_CONFIG and "TopicNameStrategy" in answer["error_message"]


def test_nothing_is_followed_when_no_topic_checks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "_LOOK_SECONDS", 0.0)
    with running_node() as alone, WireClient(alone.bootstrap) as client:
        assert alone._node is not None
        create_topic(client, TOPIC, cleanup_policy="compact")
        create_topic(client, "orders", **CHECKED)
        register(client, "orders-value", 1)
        assert send(client, "orders", batch([framed(1)]))["error_code"] == 0
        own: Any = alone._node.replication.schemas
        assert not own._following.done() and own.known.kept_bytes > 0
        configs = [{"name": "confluent.value.schema.validation", "config_operation": 0, "value": "false"}]
        body = {"resources": [{"resource_type": 2, "resource_name": "orders", "configs": configs}]}
        assert client.call(INCREMENTAL_ALTER_CONFIGS, 1, body)["responses"][0]["error_code"] == 0
        assert send(client, "orders", batch([b"anything"]))["error_code"] == 0
        register(client, "orders-value", 2, version=2)  # an answer for the Fetch that waits
        deadline = time.monotonic() + 10
        while not own._following.done():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert own.known.kept_bytes == 0


def test_without_a_registry_every_id_is_unknown() -> None:
    with running_node() as alone, WireClient(alone.bootstrap) as client:
        create_topic(client, "orders", **CHECKED)
        assert send(client, "orders", batch([framed(1)]))["error_code"] == ErrorCode.INVALID_RECORD
        create_topic(client, TOPIC, cleanup_policy="compact")
        register(client, "orders-value", 1)
        assert send(client, "orders", batch([framed(1)]))["error_code"] == 0
        # The topic is deleted, and made anew without that schema.
        body = {"topics": [{"name": TOPIC, "topic_id": bytes(16)}], "timeout_ms": 30_000}
        assert client.call(DELETE_TOPICS, 6, body)["responses"][0]["error_code"] == 0
        create_topic(client, TOPIC, cleanup_policy="compact")
        register(client, "orders-value", 2)
        assert send(client, "orders", batch([framed(2)]))["error_code"] == 0
        assert send(client, "orders", batch([framed(1)]))["error_code"] == ErrorCode.INVALID_RECORD
