"""Two clusters of three nodes, a load on the source, nodes of both killed: nothing is missing, nothing is twice."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.linked_clusters.conftest import FAST
from tests.linked_clusters.pair import barnabas, create, equal, in_json, link, read, status
from tests.support.cluster import BarnabasCluster
from tests.support.members import QUIET, until

QUICK = FAST | {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
}


class Load:
    """An idempotent producer in the background; what was acknowledged, by partition, in order of offsets."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: dict[tuple[int, int], str] = {}
        self._topic = topic
        self._stop = threading.Event()
        settings = {**QUIET, "bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5}
        self._producer = Producer({**settings, "delivery.timeout.ms": 120_000})
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.is_set():
            self._producer.produce(self._topic, f"n{number}", key=str(number), on_delivery=self._delivered)
            self._producer.poll(0.002)
            number += 1

    def _delivered(self, error: object, message: object) -> None:
        if error is None:
            self.acknowledged[message.partition(), message.offset()] = message.value().decode()  # type: ignore[attr-defined]  # a message

    def end(self) -> None:
        self._stop.set()
        self._thread.join(10)
        assert self._producer.flush(120) == 0


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[BarnabasCluster, BarnabasCluster]]:
    made = BarnabasCluster(tmp_path / "source", 3, QUICK), BarnabasCluster(tmp_path / "target", 3, QUICK)
    try:
        for cluster in made:
            cluster.start()
        yield made
    finally:
        for cluster in made:
            cluster.stop()


def _kill_in_turn(clusters: tuple[BarnabasCluster, BarnabasCluster], rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(rounds):
        cluster = clusters[number % 2]
        victim = chance.choice(cluster.up)
        cluster.kill(victim)
        time.sleep(1.5)
        cluster.start(victim)


def _check(source: BarnabasCluster, target: BarnabasCluster, load: Load, partitions: int) -> None:
    until(lambda: status(target.bootstrap)["lag_records"] == 0 and _whole(target), "the link has caught up", 120)
    equal(target.bootstrap)
    here = read(target.bootstrap, "orders", partitions, "read_uncommitted")
    for (partition, offset), value in load.acknowledged.items():
        assert here[partition][offset] == value
    assert here == read(source.bootstrap, "orders", partitions, "read_uncommitted")


def _whole(target: BarnabasCluster) -> bool:
    found = status(target.bootstrap)
    return not found["errors"] and all(each["source_end_offset"] >= 0 for each in found["partitions"])


def _run(clusters: tuple[BarnabasCluster, BarnabasCluster], rounds: int, seed: int) -> None:
    source, target = clusters
    create(source.bootstrap, "orders", 3, 3, min_insync_replicas="2")
    link(target.bootstrap, source.bootstrap)
    load = Load(source.bootstrap, "orders")
    until(lambda: len(status(target.bootstrap)["partitions"]) == 3, "the topic is there")
    _kill_in_turn(clusters, rounds, seed)
    load.end()
    assert load.acknowledged
    _check(source, target, load, 3)
    result = in_json("link", "promote", "east", "-b", target.bootstrap)
    assert result["missing"] == []
    print(f"{rounds} nodes killed: {len(load.acknowledged)} records acknowledged, all of them here, none twice")


def test_a_node_of_each_is_killed(clusters: tuple[BarnabasCluster, BarnabasCluster]) -> None:
    _run(clusters, 2, seed=1)


@pytest.mark.long
def test_nodes_are_killed_ten_times_each_and_the_direction_is_turned(
    clusters: tuple[BarnabasCluster, BarnabasCluster],
) -> None:
    _run(clusters, 20, seed=7)
    source, target = clusters
    ahead = Load(source.bootstrap, "orders")  # what only the former source has
    time.sleep(2)
    ahead.end()
    load = Load(target.bootstrap, "orders")
    barnabas("link", "reverse", "east", "--yes", "-b", target.bootstrap)
    _kill_in_turn((target, source), 6, seed=8)
    load.end()
    _check(target, source, load, 3)
