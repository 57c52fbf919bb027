"""Moves of replicas under a throttle (KIP-73): slow while it holds, on either side, and done once it is lifted."""

import asyncio
from pathlib import Path

import pytest

from barnabas.broker.node import Node

from .cluster import Cluster, ask, run, until
from .test_replication import batch, create, leader_of, produced

INCREMENTAL_ALTER_CONFIGS, ALTER_PARTITION_REASSIGNMENTS = 44, 45
SET, DELETE = 0, 1
TOPIC, BROKER = 2, 4


async def configure(node: Node, kind: int, name: str, **values: str | None) -> None:
    configs = [
        {"name": key.replace("_", "."), "config_operation": DELETE if value is None else SET, "value": value}
        for key, value in values.items()
    ]
    resource = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = await ask(node, INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource], "validate_only": False})
    assert answer.responses[0].error_code == 0, answer


async def move(node: Node, *replicas: int) -> None:
    partitions = [{"partition_index": 0, "replicas": list(replicas)}]
    body = {"timeout_ms": 5_000, "topics": [{"name": "t", "partitions": partitions}]}
    answer = await ask(node, ALTER_PARTITION_REASSIGNMENTS, 0, body)
    assert answer.error_code == 0 and answer.responses[0].partitions[0].error_code == 0, answer


@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize("lift", ["rate", "raised", "replicas"])
def test_a_move_goes_on_when_its_throttle_is_lifted(tmp_path: Path, role: str, lift: str) -> None:
    rate, replicas = f"{role}_replication_throttled_rate", f"{role}_replication_throttled_replicas"

    async def test() -> None:
        cluster = Cluster(tmp_path, 2, replica_fetch_max_bytes="2000", replica_fetch_response_max_bytes="2000")
        try:
            await cluster.start()
            await create(cluster)
            first = (await leader_of(cluster)).node_id
            other = 3 - first
            node = cluster.nodes[first]
            await move(node, first)
            await until(lambda: node.image.partition("t", 0).replicas == (first,))  # type: ignore[union-attr]
            for _ in range(20):
                await produced(cluster, batch([b"v" * 1_000]))
            await configure(node, BROKER, "", **{rate: "1"})
            await configure(node, TOPIC, "t", **{replicas: "*"})
            await move(node, first, other)

            def end() -> int:
                replica = cluster.nodes[other].partitions.hosted("t", 0)
                return replica.opened.log.log_end_offset if replica is not None and replica.opened is not None else 0

            await until(lambda: end() > 0)
            await asyncio.sleep(1.2)  # more than one long poll: what may come has come
            assert 0 < end() < 10
            if lift == "replicas":
                await configure(node, TOPIC, "t", **{replicas: None})
            else:
                await configure(node, BROKER, "", **{rate: None if lift == "rate" else "100000"})
            await until(lambda: end() == 20)
            await until(lambda: set(node.image.partition("t", 0).isr) == {first, other})  # type: ignore[union-attr]
        finally:
            cluster.drop()

    run(test)
