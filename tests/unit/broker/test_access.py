"""A node with an authorizer, asked from addresses with different rights: what is refused, not seen, and unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.access import STANDARD_AUTHORIZER
from barnabas.core.cluster import EMPTY_IMAGE, MetadataImage
from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.errors import ErrorCode
from barnabas.testing.node import RunningNode
from barnabas.wire import apis
from tests.support.wire import WireClient, await_group_coordinator

ADMIN, ALICE, NOBODY = "127.0.0.1", "127.0.0.2", "127.0.0.3"
EVERY = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def rule(host: str, operation: int, kind: int, name: str, pattern: int = PatternType.LITERAL) -> dict[str, Any]:
    return {
        "resource_type": int(kind),
        "resource_name": name,
        "resource_pattern_type": int(pattern),
        "principal": "User:ANONYMOUS",
        "host": host,
        "operation": int(operation),
        "permission_type": int(AclPermission.ALLOW),
    }


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    folder: Path = tmp_path_factory.mktemp("access")
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    running = RunningNode(folder, settings).start()
    try:
        with WireClient(running.bootstrap, source=ADMIN) as client:
            for name in ("orders", "secrets"):
                topics = [{"name": name, "num_partitions": 1, "replication_factor": 1}]
                assert not client.call(apis.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 9000})["topics"][0][
                    "error_code"
                ]
            every = (
                (AclResourceType.TOPIC, "*"),
                (AclResourceType.GROUP, "*"),
                (AclResourceType.TRANSACTIONAL_ID, "*"),
            )
            rules = [rule(ADMIN, AclOperation.ALL, kind, name) for kind, name in every]
            rules += [rule(ADMIN, AclOperation.ALL, AclResourceType.CLUSTER, "kafka-cluster")]
            rules += [rule(ALICE, AclOperation.READ, AclResourceType.TOPIC, "ord", PatternType.PREFIXED)]
            rules += [rule(ALICE, AclOperation.READ, AclResourceType.GROUP, "readers")]
            done = client.call(apis.CREATE_ACLS, 3, {"creations": rules})
            assert [item["error_code"] for item in done["results"]] == [0] * len(rules)
        yield running
    finally:
        running.stop()


def image(node: RunningNode) -> MetadataImage:
    assert node._node is not None
    return node._node.image


def ask(node: RunningNode, source: str, api_key: int, version: int, body: dict[str, Any]) -> Any:
    with WireClient(node.bootstrap, source=source) as client:
        return client.call(api_key, version, body)


def test_lists_have_what_may_be_described_and_names_are_refused_alike(node: RunningNode) -> None:
    for source, seen in ((ADMIN, {"orders", "secrets"}), (ALICE, {"orders"}), (NOBODY, set[str]())):
        found = ask(node, source, apis.METADATA, 12, {"topics": None})["topics"]
        assert {topic["name"] for topic in found} == seen
        named = {"topics": [{"name": name, "topic_id": bytes(16)} for name in ("secrets", "no such")]}
        if source != ADMIN:
            refused = ask(node, source, apis.METADATA, 12, named)["topics"]
            assert {topic["error_code"] for topic in refused} == {int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)}
            assert {topic["topic_id"] for topic in refused} == {bytes(16)}


def test_operations_are_told_as_they_are(node: RunningNode) -> None:
    body = {"topics": [{"name": "orders", "topic_id": bytes(16)}], "include_topic_authorized_operations": True}
    found = {
        source: ask(node, source, apis.METADATA, 12, body)["topics"][0]["topic_authorized_operations"]
        for source in (ADMIN, ALICE)
    }
    assert found == {ADMIN: 3576, ALICE: 1 << AclOperation.READ | 1 << AclOperation.DESCRIBE}


def test_nobody_changes_anything(node: RunningNode) -> None:
    before = image(node)
    for api_key, version, body in (
        (apis.CREATE_TOPICS, 7, {"topics": [{"name": "mine", "num_partitions": 1, "replication_factor": 1}]}),
        (apis.DELETE_TOPICS, 5, {"topic_names": ["orders"]}),
        (apis.CREATE_PARTITIONS, 3, {"topics": [{"name": "orders", "count": 9}]}),
        (apis.CREATE_ACLS, 3, {"creations": [rule(NOBODY, AclOperation.ALL, AclResourceType.TOPIC, "*")]}),
        (apis.DELETE_ACLS, 3, {"filters": [EVERY]}),
        (apis.ELECT_LEADERS, 2, {"topic_partitions": None}),
        (apis.UNREGISTER_BROKER, 0, {"broker_id": 1}),
    ):
        answer = ask(node, NOBODY, api_key, version, body)
        assert any(code in str(answer) for code in ("'error_code': 29", "'error_code': 31")), answer
    assert image(node).topics is before.topics
    assert image(node).acls is before.acls


def test_a_rule_counts_at_once_on_a_connection_that_is_open(node: RunningNode) -> None:
    listed = {"replica_id": -1, "topics": [{"name": "orders", "partitions": [{"partition_index": 0, "timestamp": -1}]}]}
    with WireClient(node.bootstrap, source=NOBODY) as client:

        def code() -> int:
            return int(client.call(apis.LIST_OFFSETS, 5, listed)["topics"][0]["partitions"][0]["error_code"])

        assert code() == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        wanted = rule(NOBODY, AclOperation.DESCRIBE, AclResourceType.TOPIC, "orders")
        ask(node, ADMIN, apis.CREATE_ACLS, 3, {"creations": [wanted]})
        assert code() == 0
        gone = ask(node, ADMIN, apis.DELETE_ACLS, 3, {"filters": [{**EVERY, "host_filter": NOBODY}]})
        assert len(gone["filter_results"][0]["matching_acls"]) == 1
        assert code() == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_rules_are_listed_by_resource_and_survive_a_restart(node: RunningNode) -> None:
    found = ask(node, ADMIN, apis.DESCRIBE_ACLS, 3, EVERY)["resources"]
    assert ("ord", PatternType.PREFIXED) in {(each["resource_name"], each["pattern_type"]) for each in found}
    rebuilt = EMPTY_IMAGE.apply(image(node).to_records())
    assert rebuilt.acls == image(node).acls


def test_an_expression_stands_for_what_its_member_may_see(node: RunningNode) -> None:
    beat = {
        "group_id": "readers",
        "member_id": "alice-1",
        "member_epoch": 0,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": 30_000,
        "subscribed_topic_names": None,
        "subscribed_topic_regex": ".*",
        "server_assignor": None,
        "topic_partitions": [],
    }
    with WireClient(node.bootstrap, source=ADMIN) as client:
        await_group_coordinator(client)
    orders = image(node).topics["orders"].id
    with WireClient(node.bootstrap, source=ALICE) as client:
        answer = client.call(apis.CONSUMER_GROUP_HEARTBEAT, 1, beat)
        assert answer["error_code"] == 0, answer
        assert [each["topic_id"] for each in answer["assignment"]["topic_partitions"]] == [orders]
        named = beat | {"member_id": "alice-2", "subscribed_topic_regex": None, "subscribed_topic_names": ["secrets"]}
        refused = client.call(apis.CONSUMER_GROUP_HEARTBEAT, 1, named)
        assert refused["error_code"] == ErrorCode.TOPIC_AUTHORIZATION_FAILED
