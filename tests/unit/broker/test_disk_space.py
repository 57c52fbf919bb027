"""A node whose disk is full: others lead what it led, until there is space again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.node import Node
from barnabas.broker.upkeep.disk_space import RESERVE_FILE
from barnabas.model.errors import ErrorCode

from .cluster import Cluster, ask, run, until
from .small_disk import SmallGround
from .test_replication import CREATE_TOPICS, FETCH, batch, create, isr, leader_of, produce, produced, same


def test_others_lead_while_a_disk_is_full(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, broker_heartbeat_interval_ms="100", replica_fetch_backoff_ms="100")
        grounds = {number: SmallGround() for number in cluster.ports}
        cluster.grounds = dict(grounds)
        await cluster.start()
        try:
            await create(cluster, partitions=3, min_insync_replicas="2")
            active = await cluster.controller()
            leaders = [await leader_of(cluster, index=index) for index in range(3)]
            index, node = next((i, found) for i, found in enumerate(leaders) if found is not active)
            assert (await produce(node, batch([b"a"]), index=index)).error_code == 0
            disk = grounds[node.node_id].small
            disk.full = True
            assert (await produce(node, batch([b"b"]), index=index)).error_code != 0
            await until(lambda: any(other.partitions.get("t", index) for other in cluster.others(node)))
            del cluster.nodes[node.node_id]
            assert await produced(cluster, batch([b"c"]), index=index) == 1
            cluster.nodes[node.node_id] = node
            assert node.failure is None
            disk.full = False
            await until(lambda: all(isr(cluster, index=i) == {1, 2, 3} for i in range(3)))
            await until(lambda: same(cluster, index=index))
            assert not node.disk_space.is_lacking
        finally:
            cluster.drop()

    run(test)


async def _create_on(node: Node, name: str) -> None:
    topic = {"name": name, "num_partitions": -1, "replication_factor": -1}
    topic["assignments"] = [{"partition_index": 0, "broker_ids": [node.node_id]}]
    body = {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}
    assert (await ask(node, CREATE_TOPICS, 7, body)).topics[0].error_code == 0


async def _read(node: Node, name: str) -> tuple[int, int, bytes]:
    asked = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "partition_max_bytes": 1_000}
    fetch: dict[str, Any] = {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 1,
        "max_bytes": 1_000,
        "isolation_level": 0,
    }
    fetch |= {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": [], "rack_id": ""}
    fetch["topics"] = [{"topic": name, "partitions": [asked]}]
    found = (await ask(node, FETCH, 11, fetch)).responses[0].partitions[0]
    return found.error_code, found.high_watermark, bytes(found.records or b"")


@pytest.mark.parametrize("controls", [False, True], ids=["a broker", "the active controller"])
def test_what_nobody_else_can_lead_is_still_read(tmp_path: Path, controls: bool) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, broker_heartbeat_interval_ms="100", replica_fetch_backoff_ms="100")
        grounds = {number: SmallGround() for number in cluster.ports}
        cluster.grounds = dict(grounds)
        await cluster.start()
        try:
            await create(cluster, partitions=3)
            active = await cluster.controller()
            node = next(found for found in cluster.nodes.values() if (found is active) == controls)
            await _create_on(node, "own")
            await produced(cluster, batch([b"a"]), name="own")
            disk, others = grounds[node.node_id].small, cluster.others(node)
            disk.full = True
            assert (await produce(node, batch([b"b"]), name="own")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            await until(lambda: all(any(o.partitions.get("t", i) for o in others) for i in range(3)))
            await until(lambda: all(node.node_id not in isr(cluster, index=i) for i in range(3)))
            await until(lambda: all(node.node_id not in node.image.partition("t", i).isr for i in range(3)))  # type: ignore[union-attr]
            await until(lambda: node.partitions.get("own", 0) is not None)
            error, high_watermark, records = await _read(node, "own")
            assert (error, high_watermark) == (0, 1)
            assert b"a" in records
            assert (await produce(node, batch([b"b"]), name="own")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            epoch = node.image.partition("own", 0).leader_epoch  # type: ignore[union-attr]
            del cluster.nodes[node.node_id]
            began = asyncio.get_running_loop().time()
            for _ in range(2):
                for index in range(3):
                    await produced(cluster, batch([b"c"]), index=index)
                await asyncio.sleep(0.5)  # long enough for several heartbeats: it is neither in sync again nor fenced
            assert asyncio.get_running_loop().time() - began < 5
            cluster.nodes[node.node_id] = node
            assert all(node.node_id not in isr(cluster, index=i) for i in range(3))
            assert node.image.partition("own", 0).leader_epoch == epoch  # type: ignore[union-attr]
            disk.full = False
            await until(lambda: all(isr(cluster, index=i) == {1, 2, 3} for i in range(3)), 15)
            assert await produced(cluster, batch([b"d"]), name="own") == 1
            await until(lambda: (tmp_path / str(node.node_id) / RESERVE_FILE).exists())
        finally:
            cluster.drop()

    run(test)


def test_whoever_is_alone_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, 1, broker_heartbeat_interval_ms="100")
        platform = cluster.grounds[1] = SmallGround()
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            await produced(cluster, batch([b"a"]))
            platform.small.full = True
            assert (await produce(node, batch([b"b"]))).error_code != 0
            assert node.disk_space.is_lacking
            assert "producers are refused, reads are served until there is" in caplog.text
            assert "others lead" not in caplog.text
            platform.small.full = False
            assert await produced(cluster, batch([b"c"])) == 1
            assert not node.disk_space.is_lacking
        finally:
            cluster.drop()

    run(test)
