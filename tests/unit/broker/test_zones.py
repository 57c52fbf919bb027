"""`min.insync.zones` on real nodes in one loop: what is acknowledged is in two zones, or is not acknowledged."""

from __future__ import annotations

from pathlib import Path

from barnabas.model.errors import ErrorCode

from .cluster import Cluster, run, until
from .test_replication import batch, create, isr, leader_of, produce, produced, replicas


def zoned(tmp_path: Path, zones: str, **settings: str) -> Cluster:
    cluster = Cluster(tmp_path, len(zones), **settings)
    cluster.more = {number: {"broker.rack": zone} for number, zone in enumerate(zones, 1) if zone != "-"}
    return cluster


def test_a_write_is_refused_while_one_zone_only_is_in_sync(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = zoned(tmp_path, "aab", leader_preferred_racks="a")
        await cluster.start()
        try:
            await create(cluster, min_insync_zones="2")
            node = await leader_of(cluster)
            assert node.node_id in (1, 2), "where leaders should be"
            assert (await produce(node, batch([b"1"]))).error_code == 0
            cluster.kill(3)
            await until(lambda: isr(cluster) == {1, 2})
            node = await leader_of(cluster)
            answer = await produce(node, batch([b"2"]))
            assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            assert (await produce(node, batch([b"3"]), acks=1)).error_code == 0
            partition = node.partitions.get("t", 0)
            assert partition is not None
            await until(lambda: all(part.open().log.log_end_offset == 2 for part in replicas(cluster)))
            assert partition.open().high_watermark == 1, "two replicas of one zone have it, so it is not committed"
            await cluster.start(3)
            assert await produced(cluster, batch([b"4"])) == 2
            assert partition.open().high_watermark == 3
        finally:
            cluster.drop()

    run(test)


def test_a_node_that_comes_back_in_another_zone_counts_there(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = zoned(tmp_path, "aab", min_insync_zones="2")
        await cluster.start()
        try:
            await create(cluster)
            assert await produced(cluster, batch([b"1"])) == 0
            for zone in "ac":
                cluster.kill(3)
                await until(lambda: isr(cluster) == {1, 2})
                cluster.more[3] = {"broker.rack": zone}
                await cluster.start(3)
                await until(lambda: isr(cluster) == {1, 2, 3})
                if zone == "a":
                    answer = await produce(await leader_of(cluster), batch([b"2"]))
                    assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            assert await produced(cluster, batch([b"3"])) == 1
        finally:
            cluster.drop()

    run(test)


def test_nodes_without_a_rack_acknowledge_nothing_that_has_to_be_in_two_zones(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = zoned(tmp_path, "---", min_insync_zones="2")
        await cluster.start()
        try:
            await create(cluster)
            assert (await produce(await leader_of(cluster), batch([b"1"]))).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
            await create(cluster, "u", min_insync_zones="1")
            assert await produced(cluster, batch([b"1"]), name="u") == 0
        finally:
            cluster.drop()

    run(test)
