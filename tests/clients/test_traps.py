"""Where other servers of Kafka's protocol stumbled: a test for each of the traps of one node (those of
transactions come with them)."""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.support.members import QUIET, Member, shared, until, write
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import (
    ALTER_CONFIGS,
    API_VERSIONS,
    CONSUMER_GROUP_HEARTBEAT,
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DESCRIBE_CONFIGS,
    FETCH,
    INCREMENTAL_ALTER_CONFIGS,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    PRODUCE,
    Closed,
    WireClient,
    batch,
    create_topic,
    fetch_body,
    produce_body,
    read_batches,
)

pytestmark = pytest.mark.timeout(90)
Create = Callable[..., str]
TOPIC_KIND, SET, DELETE, APPEND, SUBTRACT = 2, 0, 1, 2, 3


def test_trap_01_a_fetch_inside_a_batch_returns_the_whole_batch(wire: WireClient, topic: str) -> None:
    create_topic(wire, topic)
    wire.call(PRODUCE, 8, produce_body(topic, batch([b"%d" % i for i in range(10)])))
    wire.call(PRODUCE, 8, produce_body(topic, batch([b"%d" % i for i in range(10, 20)])))
    for version in (4, 11, 12):
        for offset in (0, 1, 5, 9, 10, 13, 19):
            found = wire.call(FETCH, version, fetch_body(topic, offset))["responses"][0]["partitions"][0]
            assert found["error_code"] == 0
            batches = read_batches(found["records"])
            assert batches[0]["base_offset"] == offset // 10 * 10
            assert batches[0]["count"] == 10
    tiny = wire.call(FETCH, 11, fetch_body(topic, 5, partition_max_bytes=1, max_bytes=1))["responses"][0]["partitions"][
        0
    ]
    assert read_batches(tiny["records"])[0]["base_offset"] == 0, "a batch larger than the limit must come all the same"


def test_trap_02_offsets_by_time_and_the_special_times(wire: WireClient, topic: str) -> None:
    create_topic(wire, topic)
    base = int(time.time() * 1000) - 1_000_000
    # times go up, then down: the newest record is not the last
    for stamp in (0, 1000, 5000, 2000, 3000):
        wire.call(PRODUCE, 8, produce_body(topic, batch([b"a", b"b"], timestamp=base + stamp)))

    def at(timestamp: int, version: int = 11) -> tuple[int, int, int]:
        body = {
            "replica_id": -1,
            "topics": [{"name": topic, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}],
        }
        found = wire.call(LIST_OFFSETS, version, body)["topics"][0]["partitions"][0]
        return found["error_code"], found["offset"], found["timestamp"]

    assert at(-1) == (0, 10, -1)
    assert at(-2) == (0, 0, -1)
    assert at(-3) == (0, 4, base + 5000), "the first record with the largest time"
    assert at(-4) == (0, 0, -1), "earliest local is earliest without tiers"
    assert at(-5) == (0, -1, -1), "nothing is in another tier"
    assert at(-6) == (0, -1, -1), "nothing waits to be uploaded"
    for when, expected in ((base, 0), (base + 1, 2), (base + 1000, 2), (base + 1001, 4), (base + 5000, 4)):
        assert at(when)[:2] == (0, expected)
    assert at(base + 5001) == (0, -1, -1)
    for version, newest in ((6, -2), (7, -3), (8, -4), (9, -5), (10, -5), (11, -6)):
        assert at(newest, version)[0] == 0
        assert at(newest - 1, version)[0] != 0, f"timestamp {newest - 1} is unknown to version {version}"


def test_trap_03_the_metadata_of_a_commit_comes_back_unchanged(wire: WireClient, topic: str, group: str) -> None:
    create_topic(wire, topic)
    for note in ("", "plain", "ünï→", "x" * 4096, '{"json": [1, 2]}', "tab\tline\n"):
        item = {"partition_index": 0, "committed_offset": 5, "committed_leader_epoch": 0, "committed_metadata": note}
        body = {
            "group_id": group,
            "generation_id_or_member_epoch": -1,
            "member_id": "",
            "retention_time_ms": -1,
            "topics": [{"name": topic, "partitions": [item]}],
        }
        assert wire.call(OFFSET_COMMIT, 8, body)["topics"][0]["partitions"][0]["error_code"] == 0
        found = wire.call(OFFSET_FETCH, 7, {"group_id": group, "topics": [{"name": topic, "partition_indexes": [0]}]})
        part = found["topics"][0]["partitions"][0]
        assert (part["committed_offset"], part["metadata"], part["committed_leader_epoch"]) == (5, note, 0)


def test_trap_04_every_setting_with_default_source_and_synonyms(wire: WireClient, topic: str) -> None:
    create_topic(wire, topic, segment_bytes="2000000")

    def describe(kind: int, name: str) -> dict[str, dict[str, Any]]:
        body = {
            "resources": [{"resource_type": kind, "resource_name": name, "configuration_keys": None}],
            "include_synonyms": True,
            "include_documentation": True,
        }
        found = wire.call(DESCRIBE_CONFIGS, 4, body)["results"][0]
        assert found["error_code"] == 0, found
        return {c["name"]: c for c in found["configs"]}

    topic_settings = describe(TOPIC_KIND, topic)
    assert len(topic_settings) >= 30
    assert {
        "cleanup.policy",
        "compression.type",
        "retention.ms",
        "segment.bytes",
        "min.insync.replicas",
        "message.timestamp.type",
    } <= topic_settings.keys()
    changed, plain = topic_settings["segment.bytes"], topic_settings["max.message.bytes"]
    assert (changed["value"], changed["config_source"]) == ("2000000", 1)
    assert [(x["name"], x["source"], x["value"]) for x in changed["synonyms"]] == [
        ("segment.bytes", 1, "2000000"),
        ("log.segment.bytes", 5, "1073741824"),
    ]
    assert (plain["value"], plain["config_source"]) == ("1048588", 5)
    assert [(x["name"], x["source"]) for x in plain["synonyms"]] == [("message.max.bytes", 5)]
    assert all(c["documentation"] for c in topic_settings.values())
    assert all(c["config_type"] > 0 for c in topic_settings.values())
    broker = wire.call(METADATA, 1, {"topics": []})["brokers"][0]["node_id"]
    node_settings = describe(4, str(broker))
    assert len(node_settings) >= 100
    assert node_settings["log.segment.bytes"]["value"] == "1073741824"
    assert not node_settings["log.segment.bytes"]["read_only"]
    assert node_settings["node.id"]["read_only"]


def test_trap_05_one_bad_entry_does_not_spoil_the_others(wire: WireClient, topic: str) -> None:
    good = {"name": f"{topic}-good", "num_partitions": 1, "replication_factor": 1}
    bad = {"name": "bad name", "num_partitions": 1, "replication_factor": 1}
    many = {"name": f"{topic}-many", "num_partitions": 1, "replication_factor": 9}
    answer = wire.call(CREATE_TOPICS, 7, {"topics": [bad, good, many], "timeout_ms": 10000})
    assert {t["name"]: t["error_code"] for t in answer["topics"]} == {
        f"{topic}-good": 0,
        "bad name": 17,
        f"{topic}-many": 38,
    }
    grow = [
        {"name": f"{topic}-good", "count": 3, "assignments": None},
        {"name": f"{topic}-absent", "count": 3, "assignments": None},
    ]
    answer = wire.call(CREATE_PARTITIONS, 3, {"topics": grow, "timeout_ms": 10000})
    assert {t["name"]: t["error_code"] for t in answer["results"]} == {f"{topic}-good": 0, f"{topic}-absent": 3}


def test_trap_06_sizes_and_keys_are_enforced_at_produce(wire: WireClient, topic: str) -> None:
    create_topic(wire, topic, max_message_bytes="1000")
    fits, too_large = batch([b"x" * 900]), batch([b"x" * 1000])
    assert len(fits) <= 1000 < len(too_large)
    assert wire.call(PRODUCE, 8, produce_body(topic, fits))["responses"][0]["partition_responses"][0]["error_code"] == 0
    assert (
        wire.call(PRODUCE, 8, produce_body(topic, too_large))["responses"][0]["partition_responses"][0]["error_code"]
        == 10
    )
    compacted = f"{topic}-compacted"
    create_topic(wire, compacted, cleanup_policy="compact")
    data = batch([b"a", b"b", b"c", b"d"], keys=[b"k", None, b"k", None])
    found = wire.call(PRODUCE, 8, produce_body(compacted, data))["responses"][0]["partition_responses"][0]
    assert found["error_code"] == 87
    assert [e["batch_index"] for e in found["record_errors"]] == [1, 3], "each record without a key is named"
    end = {"replica_id": -1, "topics": [{"name": compacted, "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
    assert wire.call(LIST_OFFSETS, 5, end)["topics"][0]["partitions"][0]["offset"] == 0, "nothing of it was written"


def test_trap_09_live_members_are_known_during_overlapping_rebalances(
    bootstrap: str, create: Create, topic: str, group: str
) -> None:
    """Members arrive and leave while others rebalance; nobody alive, static or not, is told UNKNOWN_MEMBER_ID, and
    the end is quiet."""
    create(topic, 8)
    members = [
        Member(bootstrap, group, [topic], name=f"m{i}", **({"group.instance.id": f"i{i}"} if i % 2 else {}))
        for i in range(2)
    ]
    try:
        for i in range(2, 6):
            members.append(
                Member(bootstrap, group, [topic], name=f"m{i}", **({"group.instance.id": f"i{i}"} if i % 2 else {}))
            )
            time.sleep(0.05)
        members.pop(2).close()
        until(lambda: shared(members, 8), "five members share")
        assert not [(m.name, str(e)) for m in members for e in m.errors]
        assert not [h for m in members for h in m.history if h[0] == "lost"], "a live member lost its place"
        settled = [len(m.history) for m in members]
        time.sleep(1.5)
        assert [len(m.history) for m in members] == settled, "a rebalance without a reason"
    finally:
        for member in members:
            member.close()


def test_trap_10_append_and_subtract(wire: WireClient, topic: str) -> None:
    create_topic(wire, topic)

    def alter(*changes: tuple[str, int, str | None]) -> int:
        entries = [{"name": n, "config_operation": op, "value": v} for n, op, v in changes]
        body = {"resources": [{"resource_type": TOPIC_KIND, "resource_name": topic, "configs": entries}]}
        return int(wire.call(INCREMENTAL_ALTER_CONFIGS, 1, body)["responses"][0]["error_code"])

    def value(name: str) -> str:
        body = {"resources": [{"resource_type": TOPIC_KIND, "resource_name": topic, "configuration_keys": [name]}]}
        return str(wire.call(DESCRIBE_CONFIGS, 4, body)["results"][0]["configs"][0]["value"])

    assert alter(("cleanup.policy", APPEND, "compact")) == 0
    assert value("cleanup.policy").split(",") == ["delete", "compact"]
    assert alter(("cleanup.policy", APPEND, "compact")) == 0
    assert value("cleanup.policy").split(",") == ["delete", "compact"], "what is there is not added again"
    assert alter(("cleanup.policy", SUBTRACT, "delete")) == 0
    assert value("cleanup.policy") == "compact"
    assert alter(("retention.ms", APPEND, "1")) != 0, "a number is no list"
    assert alter(("retention.ms", SET, "777"), ("cleanup.policy", DELETE, None)) == 0
    assert (value("retention.ms"), value("cleanup.policy")) == ("777", "delete")
    # the old way replaces everything
    body = {
        "resources": [
            {"resource_type": TOPIC_KIND, "resource_name": topic, "configs": [{"name": "flush.ms", "value": "9"}]}
        ]
    }
    assert wire.call(ALTER_CONFIGS, 2, body)["responses"][0]["error_code"] == 0
    assert (value("flush.ms"), value("retention.ms")) == ("9", "604800000")


def test_trap_11_metadata_creates_only_when_allowed(
    wire: WireClient, make_node: Callable[..., BarnabasNode | KafkaNode], topic: str
) -> None:
    def ask(client: WireClient, name: str, allowed: bool) -> int:
        body = {"topics": [{"name": name, "topic_id": bytes(16)}], "allow_auto_topic_creation": allowed}
        return int(client.call(METADATA, 12, body)["topics"][0]["error_code"])

    assert ask(wire, topic, False) == 3
    assert ask(wire, topic, False) == 3, "asking without leave has created it"
    assert ask(wire, topic, True) in (0, 3, 5)
    until(lambda: ask(wire, topic, False) == 0, "created", 10)
    assert ask(wire, "bad name", True) == 17
    assert ask(wire, "", True) == 17
    closed = make_node({"auto.create.topics.enable": "false"})
    with WireClient(closed.bootstrap) as other:
        assert ask(other, topic, True) == 3
        time.sleep(0.2)
        assert ask(other, topic, True) == 3, "the node does not allow it"


def test_trap_13_a_partition_is_free_only_once_its_owner_has_said_so(wire: WireClient, topic: str, group: str) -> None:
    """KIP-848, by hand: the second member gets nothing until the first has confirmed; a sign of life carries
    nulls; the regex is RE2."""
    ident = create_topic(wire, topic, 2)

    def beat(member: str, epoch: int, **more: Any) -> dict[str, Any]:
        body = {
            "group_id": group,
            "member_id": member,
            "member_epoch": epoch,
            "rebalance_timeout_ms": -1,
            "subscribed_topic_names": None,
            "topic_partitions": None,
            **more,
        }
        return wire.call(CONSUMER_GROUP_HEARTBEAT, 1, body)

    def owned(answer: dict[str, Any]) -> list[int] | None:
        assert answer["error_code"] == 0, answer
        if answer["assignment"] is None:
            return None
        return [p for t in answer["assignment"]["topic_partitions"] for p in t["partitions"]]

    def owning(*partitions: int) -> list[dict[str, Any]]:
        return [{"topic_id": ident, "partitions": list(partitions)}] if partitions else []

    fresh = {"rebalance_timeout_ms": 30000, "subscribed_topic_names": [topic], "topic_partitions": []}
    one, two = str(uuid.uuid4()), str(uuid.uuid4())
    answer = beat(one, 0, **fresh)
    deadline = time.monotonic() + 10
    while owned(answer) != [0, 1]:
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
        answer = beat(one, answer["member_epoch"], topic_partitions=[])
    epoch_one = answer["member_epoch"]
    epoch_one = beat(one, epoch_one, topic_partitions=owning(0, 1))["member_epoch"]
    assert owned(beat(one, epoch_one)) is None, "nothing changed, nothing is said"
    answer = beat(two, 0, **fresh)
    assert owned(answer) in ([], None)
    epoch_two = answer["member_epoch"]
    kept: list[int] | None = None
    deadline = time.monotonic() + 10
    while kept is None or len(kept) == 2:
        assert time.monotonic() < deadline, "the first does not hear of the second"
        kept = owned(beat(one, epoch_one, topic_partitions=owning(0, 1)))
    assert len(kept) == 1
    for _ in range(3):
        assert owned(beat(two, epoch_two)) in ([], None), "given away before its owner has let go"
    epoch_one = beat(one, epoch_one, topic_partitions=owning(*kept))["member_epoch"]
    answer = beat(two, epoch_two)
    assert owned(answer) == [p for p in (0, 1) if p not in kept]
    bad = {**fresh, "subscribed_topic_names": None, "subscribed_topic_regex": "(?=look-ahead)"}
    assert beat(str(uuid.uuid4()), 0, **bad)["error_code"] == 128, "RE2 has no look-ahead"


def test_trap_14_an_unknown_api_versions_is_answered_readably(bootstrap: str) -> None:
    for version in (5, 6, 99, 32767):
        with WireClient(bootstrap) as client:
            frame = struct.pack(">hhih", API_VERSIONS, version, 7, 4) + b"test" + b"\0" * 3
            client.socket.sendall(struct.pack(">i", len(frame)) + frame)
            answer = client.receive_frame()
            correlation, error, count = struct.unpack_from(">ihi", answer)
            if version == 5 and error == 0:
                continue  # a newer server may know it
            assert (correlation, error) == (7, 35)
            assert 1 <= count <= 100
            keys = [struct.unpack_from(">hhh", answer, 10 + 6 * i) for i in range(count)]
            assert any(key == API_VERSIONS for key, _, _ in keys), "without its own range the client cannot fall back"


def test_trap_15_coordinator_state_survives_compaction_and_restart(
    make_node: Callable[..., BarnabasNode | KafkaNode],
) -> None:
    """Offsets committed many times and some deleted; the offsets topic is compacted away under it; a restart sees
    the last of each."""
    node = make_node(
        {
            "offsets.topic.num.partitions": "1",
            "offsets.topic.segment.bytes": "1048576",
            "log.cleaner.min.cleanable.ratio": "0.01",
            "log.cleaner.backoff.ms": "200",
            "log.cleaner.delete.retention.ms": "0",
            "log.cleaner.min.compaction.lag.ms": "0",
        }
    )
    with WireClient(node.bootstrap) as client:
        create_topic(client, "read", 4)
    consumers = {
        g: Consumer({**QUIET, "bootstrap.servers": node.bootstrap, "group.id": g}) for g in ("kept", "deleted")
    }
    note = "n" * 4000  # large, so that segments roll
    for round_ in range(80):
        for consumer in consumers.values():
            consumer.commit(
                offsets=[TopicPartition("read", p, round_ * 10 + p, metadata=note) for p in range(4)],
                asynchronous=False,
            )
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    for consumer in consumers.values():
        consumer.close()
    admin.delete_consumer_groups(["deleted"])["deleted"].result(10)
    log = node.data / "__consumer_offsets-0"

    def compacted() -> bool:
        """The bytes of the sealed segments have mostly gone."""
        segments = sorted(log.glob("*.log"))
        return len(segments) >= 1 and sum(s.stat().st_size for s in segments) < 1_600_000

    until(compacted, "the offsets topic is compacted", 40)
    for _ in range(2):
        node.stop()
        node.start()
        with WireClient(node.bootstrap) as client:

            def offsets(group: str, client: WireClient = client) -> dict[str, Any]:
                return client.call(OFFSET_FETCH, 7, {"group_id": group, "topics": None})

            until(lambda: offsets("kept")["error_code"] == 0, "the coordinator is loaded", 20)
            found = offsets("kept")["topics"][0]["partitions"]
            assert sorted((p["partition_index"], p["committed_offset"], p["metadata"].rstrip("\0")) for p in found) == [
                (p, 790 + p, note) for p in range(4)
            ]
            assert offsets("deleted")["topics"] == [], "a deleted group has come back"


def test_trap_16_every_request_gets_an_answer(bootstrap: str, wire: WireClient, create: Create, topic: str) -> None:
    """In order, also when pipelined behind ones that wait; what cannot be answered closes the connection."""
    create(topic)
    write(bootstrap, topic, [b"x"] * 5)
    sent = [
        (FETCH, 11, wire.send(FETCH, 11, fetch_body(topic, 5, max_wait_ms=300, min_bytes=1))),
        (METADATA, 9, wire.send(METADATA, 9, {"topics": []})),
        (FETCH, 12, wire.send(FETCH, 12, fetch_body("never", 0))),
        (API_VERSIONS, 0, wire.send(API_VERSIONS, 0, {})),
        (LIST_OFFSETS, 5, wire.send(LIST_OFFSETS, 5, {"replica_id": -1, "topics": []})),
    ]
    for api_key, version, correlation in sent:
        wire.receive(api_key, version, correlation)
    for frame in (
        b"\x00",
        struct.pack(">hhih", 999, 0, 1, -1),
        struct.pack(">hhih", METADATA, 99, 1, -1),
        b"\xff" * 40,
    ):
        with WireClient(bootstrap, timeout_seconds=10) as other:
            other.socket.sendall(struct.pack(">i", len(frame)) + frame)
            with pytest.raises((Closed, ConnectionError)):
                other.receive_frame()
