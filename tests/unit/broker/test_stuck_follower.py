"""A follower that stands still in one partition, and goes on fetching others, leaves the in-sync replicas there."""

from pathlib import Path
from typing import Any

import pytest

from barnabas.broker.replication.fetcher import ReplicaFetcher

from .cluster import Cluster, run, until
from .test_replication import batch, create, isr, leader_of, produce


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Nodes that lose what they are sent of the topic `t`, and do not name it again."""
    nodes: set[int] = set()
    process = ReplicaFetcher._process

    def lost(self: ReplicaFetcher, key: Any, followed: Any, part: Any) -> None:
        if not (followed.partition.id.topic == "t" and followed.partition._host.node_id in nodes):
            process(self, key, followed, part)

    monkeypatch.setattr(ReplicaFetcher, "_process", lost)
    return nodes


def test_it_leaves_and_producers_go_on(tmp_path: Path, stuck: set[int]) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, replica_lag_time_max_ms="800")
        await cluster.start()
        try:
            await create(cluster, min_insync_replicas="2")
            node = await leader_of(cluster)
            assert (await produce(node, batch([b"a"]))).error_code == 0
            follower = cluster.others(node)[0].node_id
            await until(lambda: isr(cluster) == {1, 2, 3})
            stuck.add(follower)
            assert (await produce(node, batch([b"b"]), ms=20_000)).error_code == 0
            assert isr(cluster) == {1, 2, 3} - {follower}
        finally:
            cluster.drop()

    run(test)
