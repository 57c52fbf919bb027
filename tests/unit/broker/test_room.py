"""A node whose disk is full: others lead what it led, until there is room again."""

from pathlib import Path

import pytest

from .cluster import Cluster, run, until
from .small_disk import SmallGround
from .test_replication import batch, create, isr, leader_of, produce, produced, same


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


def test_whoever_is_alone_stays(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, 1, broker_heartbeat_interval_ms="100")
        ground = cluster.grounds[1] = SmallGround()
        await cluster.start()
        try:
            await create(cluster)
            node = await leader_of(cluster)
            await produced(cluster, batch([b"a"]))
            ground.small.full = True
            assert (await produce(node, batch([b"b"]))).error_code != 0
            assert node.disk_space.is_lacking
            assert "producers are refused, reads are served until there is" in caplog.text
            assert "others lead" not in caplog.text
            ground.small.full = False
            assert await produced(cluster, batch([b"c"])) == 1
            assert not node.disk_space.is_lacking
        finally:
            cluster.drop()

    run(test)
