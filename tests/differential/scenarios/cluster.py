"""The cluster as a whole: versions, brokers, quorum, features, log folders, elections."""

from __future__ import annotations

from typing import Any

from tests.differential.engine import Pair
from tests.differential.registry import SERVED, scenario
from tests.support import kio_codec
from tests.support.wire import (
    ALTER_REPLICA_LOG_DIRS,
    API_VERSIONS,
    DESCRIBE_CLUSTER,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_QUORUM,
    ELECT_LEADERS,
    PRODUCE,
    UNREGISTER_BROKER,
    UPDATE_FEATURES,
    batch,
    produce_body,
)


@scenario(API_VERSIONS)
def api_versions(pair: Pair, v: int) -> None:
    pair.call(
        API_VERSIONS, v, {"client_software_name": "barnabas-tests", "client_software_version": "1.0"}, "a good client"
    )
    if v >= 3:
        for name, version in (("", "1.0"), ("x", ""), ("bad name", "1"), ("-x", "1"), ("x", "1 2")):
            body = {"client_software_name": name, "client_software_version": version}
            pair.call(API_VERSIONS, v, body, f"client named {name!r} {version!r}")


@scenario(API_VERSIONS, [4])
def versions_nobody_serves(pair: Pair, v: int) -> None:
    """An ApiVersions of the future is answered with version 0; any other unknown version or API ends the connection."""
    for future in (6, 99, 32767, -1):
        pair.raw(API_VERSIONS, future, b"\0\0\0", True, f"ApiVersions v{future}")
    for api_key, versions in SERVED.items():
        if api_key != API_VERSIONS:
            newest, oldest = max(versions) + 9, min(versions) - 1
            pair.raw(api_key, newest, b"\0" * 8, True, f"{kio_codec.name(api_key)} v{newest}, of the future")
            if oldest >= 0:
                pair.raw(api_key, oldest, b"\0" * 8, False, f"{kio_codec.name(api_key)} v{oldest}, long gone")
    for api_key in (4, 5, 6, 7, 200, -1, 32767):
        pair.raw(api_key, 0, b"\0" * 8, False, f"api key {api_key}")


@scenario(API_VERSIONS, [4])
def malformed_bodies(pair: Pair, v: int) -> None:
    """Bodies that end too early, or whose lengths say more than is there."""
    for api_key, versions in SERVED.items():
        for version in {min(versions), max(versions)}:
            flexible = kio_codec.flexible_request(api_key, version)
            body = kio_codec.encode_request(api_key, version, {})
            if body.strip(b"\0\xff\1"):
                pair.raw(api_key, version, body[: len(body) // 2], flexible, "half a body")
            if any(field.array for field in kio_codec.request_table(api_key, version).fields[:1]):
                pair.raw(api_key, version, b"\x7f\xff\xff\xff" + b"\0" * 6, flexible, "an array that cannot be")


@scenario(DESCRIBE_CLUSTER)
def describe_cluster(pair: Pair, v: int) -> None:
    pair.call(DESCRIBE_CLUSTER, v, {"include_cluster_authorized_operations": False, "endpoint_type": 1}, "brokers")
    pair.call(
        DESCRIBE_CLUSTER,
        v,
        {"include_cluster_authorized_operations": True, "endpoint_type": 1},
        "with authorized operations",
    )
    if v >= 1:
        pair.call(DESCRIBE_CLUSTER, v, {"endpoint_type": 2}, "controllers, asked of a broker")
        pair.call(DESCRIBE_CLUSTER, v, {"endpoint_type": 9}, "an endpoint type that is none")
    if v >= 2:
        pair.call(DESCRIBE_CLUSTER, v, {"endpoint_type": 1, "include_fenced_brokers": True}, "fenced brokers too")


@scenario(DESCRIBE_QUORUM)
def describe_quorum(pair: Pair, v: int) -> None:
    def ask(question: str, topic: str, *partitions: int) -> None:
        pair.call(
            DESCRIBE_QUORUM,
            v,
            {"topics": [{"topic_name": topic, "partitions": [{"partition_index": p} for p in partitions]}]},
            question,
        )

    ask("the metadata log", "__cluster_metadata", 0)
    ask("another partition of it", "__cluster_metadata", 1)
    ask("an ordinary topic", "ordinary", 0)
    pair.call(DESCRIBE_QUORUM, v, {"topics": []}, "nothing")


@scenario(UPDATE_FEATURES)
def update_features(pair: Pair, v: int) -> None:
    def ask(question: str, feature: str, level: int, kind: int = 1, **more: Any) -> None:
        item = {"feature": feature, "max_version_level": level, "upgrade_type": kind, "allow_downgrade": kind > 1}
        pair.call(
            UPDATE_FEATURES,
            v,
            {"timeout_ms": 10000, "feature_updates": [item], "validate_only": False, **more},
            question,
        )

    ask("the level it has", "group.version", 1)
    ask("a feature that is none", "no.such.feature", 1)
    ask("a level above the newest", "group.version", 99)
    ask("a negative level", "group.version", -1)
    ask("no name", "", 1)
    ask("down, though only up is allowed", "group.version", 0)
    pair.call(UPDATE_FEATURES, v, {"timeout_ms": 10000, "feature_updates": [], "validate_only": False}, "nothing")
    if v >= 1:
        ask("only validated", "group.version", 1, validate_only=True)
        ask("an upgrade type that is none", "group.version", 1, kind=9)


@scenario(UNREGISTER_BROKER)
def unregister_broker(pair: Pair, v: int) -> None:
    pair.call(UNREGISTER_BROKER, v, {"broker_id": 77}, "a broker that is none")
    pair.call(UNREGISTER_BROKER, v, {"broker_id": -1}, "a negative broker")


@scenario(DESCRIBE_LOG_DIRS)
def describe_log_dirs(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("sized"), 2)
    pair.each(lambda s: s.client.call(PRODUCE, 8, produce_body(name, batch([b"x" * 100], timestamp=1_000_000))))

    def ask(question: str, topic: str, *partitions: int) -> None:
        pair.call(DESCRIBE_LOG_DIRS, v, {"topics": [{"topic": topic, "partitions": list(partitions)}]}, question)

    ask("two partitions", name, 0, 1)
    ask("a partition that is none", name, 7)
    ask("an unknown topic", pair.fresh("never"), 0)
    pair.call(DESCRIBE_LOG_DIRS, v, {"topics": []}, "no topics")


@scenario(ALTER_REPLICA_LOG_DIRS)
def alter_replica_log_dirs(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("moved"))

    def ask(question: str, path: str, topic: str, *partitions: int) -> None:
        pair.call(
            ALTER_REPLICA_LOG_DIRS,
            v,
            {"dirs": [{"path": path, "topics": [{"name": topic, "partitions": list(partitions)}]}]},
            question,
        )

    ask("to a folder that is none", "/no/such/folder", name, 0)
    ask("to a relative folder", "folder", name, 0)
    ask("a topic that is none", "/no/such/folder", pair.fresh("never"), 0)
    pair.call(ALTER_REPLICA_LOG_DIRS, v, {"dirs": []}, "nothing")


@scenario(ELECT_LEADERS)
def elect_leaders(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("elected"), 2)

    def ask(question: str, topics: list[tuple[str, list[int]]] | None, kind: int = 0) -> None:
        listed = None if topics is None else [{"topic": t, "partitions": p} for t, p in topics]
        pair.call(ELECT_LEADERS, v, {"election_type": kind, "topic_partitions": listed, "timeout_ms": 10000}, question)

    ask("preferred, leads already", [(name, [0, 1])])
    ask("a partition that is none", [(name, [7])])
    ask("an unknown topic", [(pair.fresh("never"), [0])])
    ask("all", None)
    ask("nothing", [])
    if v >= 1:
        ask("unclean, not needed", [(name, [0])], 1)
        ask("unclean, all", None, 1)
        ask("a type that is none", [(name, [0])], 7)


ALTER_PARTITION_REASSIGNMENTS, LIST_PARTITION_REASSIGNMENTS = 45, 46


@scenario(ALTER_PARTITION_REASSIGNMENTS)
def moving_partitions(pair: Pair, v: int) -> None:
    """One broker is enough for every refusal, and for a move that changes nothing."""
    name = pair.topic(pair.fresh("moved"), 2)

    def ask(question: str, *topics: tuple[str, list[tuple[int, list[int] | None]]], factor: bool = True) -> None:
        listed = [
            {"name": topic, "partitions": [{"partition_index": i, "replicas": to} for i, to in partitions]}
            for topic, partitions in topics
        ]
        body: dict[str, Any] = {"timeout_ms": 10000, "topics": listed}
        if v >= 1:
            body["allow_replication_factor_change"] = factor
        pair.call(ALTER_PARTITION_REASSIGNMENTS, v, body, question)

    ask("nothing")
    ask("where they are already", (name, [(0, [1]), (1, [1])]))
    ask("nothing to take back", (name, [(0, None)]))
    ask("an unknown topic", (pair.fresh("never"), [(0, [1])]))
    ask("a partition that is none", (name, [(7, [1]), (-1, [1])]))
    ask("a broker that is none", (name, [(0, [1, 9])]))
    ask("a broker twice", (name, [(0, [1, 1])]))
    ask("a negative broker", (name, [(0, [-1])]))
    ask("no replica at all", (name, [(0, [])]))
    ask("some right, some wrong", (name, [(0, [9]), (1, [1])]))
    if v >= 1:
        ask("the same number", (name, [(0, [1])]), factor=False)
        ask("more replicas, which is forbidden", (name, [(0, [1, 9])]), factor=False)


@scenario(LIST_PARTITION_REASSIGNMENTS)
def moves_under_way(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("still"), 2)

    def ask(question: str, topics: list[tuple[str, list[int]]] | None) -> None:
        listed = None if topics is None else [{"name": t, "partition_indexes": p} for t, p in topics]
        pair.call(LIST_PARTITION_REASSIGNMENTS, v, {"timeout_ms": 10000, "topics": listed}, question)

    ask("all", None)
    ask("none", [])
    ask("partitions that stay", [(name, [0, 1])])
    ask("a partition that is none", [(name, [7])])
    ask("an unknown topic", [(pair.fresh("never"), [0])])
