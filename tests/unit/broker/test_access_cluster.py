"""Access control in a cluster of three: rules count on every node, and a forwarded request is its client's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.access import STANDARD_AUTHORIZER
from barnabas.broker.network.session import Principal, packed_address, principal_bytes
from barnabas.model.access import AclOperation, AclResourceType, PatternType
from barnabas.model.errors import ErrorCode
from barnabas.wire import apis
from barnabas.wire.codec import encode_request
from barnabas.wire.headers import request_header
from tests.support.wire import WireClient
from tests.unit.broker.cluster import Cluster
from tests.unit.broker.test_access import rule

ADMIN, STRANGER = "127.0.0.1", "127.0.0.2"
KINDS = (
    (AclResourceType.TOPIC, "*"),
    (AclResourceType.GROUP, "*"),
    (AclResourceType.TRANSACTIONAL_ID, "*"),
    (AclResourceType.CLUSTER, "kafka-cluster"),
)
TOPIC = {"name": "mine", "num_partitions": 1, "replication_factor": 3}
pytestmark = pytest.mark.timeout(120)


async def ask(port: int, source: str, api_key: int, version: int, body: dict[str, Any]) -> Any:
    def call() -> Any:
        with WireClient(f"127.0.0.1:{port}", source=source) as client:
            return client.call(api_key, version, body)

    return await asyncio.to_thread(call)


async def create(port: int, source: str, name: str) -> int:
    body = {"topics": [TOPIC | {"name": name}], "timeout_ms": 30_000}
    return int((await ask(port, source, apis.CREATE_TOPICS, 7, body))["topics"][0]["error_code"])


async def _story(cluster: Cluster) -> None:
    await cluster.start()
    follower, leader = sorted(cluster.nodes, key=lambda number: cluster.nodes[number].controller.is_active)[::2]
    rules = [rule(ADMIN, AclOperation.ALL, kind, name) for kind, name in KINDS]
    port = cluster.ports[follower]
    done = await ask(port, ADMIN, apis.CREATE_ACLS, 3, {"creations": rules})
    assert [item["error_code"] for item in done["results"]] == [0] * 4
    # Through another node than the controller: the client's own address decides, not the node's.
    assert await create(port, STRANGER, "mine") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert await create(port, ADMIN, "theirs") == 0
    wanted = rule(STRANGER, AclOperation.CREATE, AclResourceType.TOPIC, "mi", PatternType.PREFIXED)
    await ask(port, ADMIN, apis.CREATE_ACLS, 3, {"creations": [wanted]})
    assert await create(port, STRANGER, "mine") == 0
    assert await create(port, STRANGER, "more") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    for node in cluster.nodes.values():
        while len(node.image.acls) < 5:  # on every node, a moment later
            await asyncio.sleep(0.01)
    await _no_envelope_of_a_strangers(cluster.ports[leader])


async def _no_envelope_of_a_strangers(port: int) -> None:
    """Who is no node cannot speak for somebody else."""
    inner = request_header(apis.CREATE_TOPICS, 7, 1, "c")
    inner += encode_request(apis.CREATE_TOPICS, 7, {"topics": [TOPIC | {"name": "forged"}], "timeout_ms": 9000})
    for principal in (principal_bytes(Principal("User", "admin")), None):
        body = {
            "request_data": inner,
            "request_principal": principal,
            "client_host_address": packed_address(ADMIN),
        }
        answer = await ask(port, STRANGER, apis.ENVELOPE, 0, body)
        assert answer["error_code"] == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert not answer["response_data"]


def test_a_cluster_with_rules(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, authorizer_class_name=STANDARD_AUTHORIZER, allow_everyone_if_no_acl_found="true")

    async def story() -> None:
        try:
            await asyncio.wait_for(_story(cluster), 100)
        finally:
            cluster.drop()

    asyncio.run(story())
