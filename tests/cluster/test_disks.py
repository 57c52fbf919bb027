"""Disks that are gone, folders that are lost, bits that flip: a node refills itself from its peers."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.crash.load import read_all
from tests.support.cluster import BarnabasCluster
from tests.support.members import write

pytestmark = pytest.mark.timeout(120)


def _values(cluster: BarnabasCluster, topic: str) -> list[int]:
    return [value for _, value in read_all(cluster.bootstrap, topic, 1)[0]]


def _log(cluster: BarnabasCluster, number: int, topic: str) -> bytes:
    return (cluster.folder_of(number, topic) / "00000000000000000000.log").read_bytes()


def _same_everywhere(cluster: BarnabasCluster, topic: str) -> None:
    cluster.await_isr(topic, 3)
    cluster.until(
        lambda: len({_log(cluster, number, topic) for number in (1, 2, 3)}) == 1, "replicas are byte-identical", 20
    )


def test_an_empty_disk_is_refilled(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 1, 3, min_insync_replicas="2")
    write(cluster.bootstrap, topic, [b"%d" % i for i in range(1000)], 1)
    victim = cluster.leader(topic)
    cluster.kill(victim)
    shutil.rmtree(cluster.nodes[victim].data)
    write(cluster.bootstrap, topic, [b"%d" % i for i in range(1000, 1500)], 1)
    cluster.start(victim)
    _same_everywhere(cluster, topic)
    assert _values(cluster, topic) == list(range(1500))


def test_a_lost_folder_of_a_partition_is_refilled(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 1, 3, min_insync_replicas="2")
    write(cluster.bootstrap, topic, [b"%d" % i for i in range(1000)], 1)
    victim = cluster.leader(topic)
    cluster.kill(victim)
    shutil.rmtree(cluster.folder_of(victim, topic))
    cluster.start(victim)
    _same_everywhere(cluster, topic)
    assert _values(cluster, topic) == list(range(1000))


@pytest.mark.parametrize("who", ["leader", "follower"])
def test_a_flipped_bit_is_found_and_mended(make_cluster: Callable[..., BarnabasCluster], who: str) -> None:
    cluster = make_cluster(log_verify_interval_ms="1000")
    topic = cluster.create("orders", 1, 3, min_insync_replicas="2")
    write(cluster.bootstrap, topic, [b"%d" % i for i in range(1000)], 1, **{"batch.num.messages": 10})
    found = cluster.partition(topic)
    leader = found["leader_id"]
    victim = leader if who == "leader" else next(each for each in found["replica_nodes"] if each != leader)
    cluster.restart(victim)
    cluster.await_isr(topic, 3)
    cluster.kill(victim)
    path = cluster.folder_of(victim, topic) / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x10
    path.write_bytes(data)
    cluster.start(victim)
    if who == "leader":
        cluster.await_isr(topic, 3)
        cluster.kill(*(each for each in (1, 2, 3) if each != victim))  # whatever it has left must be right
        cluster.start(*(each for each in (1, 2, 3) if each != victim))
    _same_everywhere(cluster, topic)
    assert _values(cluster, topic) == list(range(1000))
