"""A node whose disk fills up: the others go on, and it comes back when there is room again."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.cluster.company import Company
from tests.cluster.whole import await_whole, check_replicas
from tests.support.cluster import BarnabasCluster
from tests.support.figures import Figure
from tests.support.members import until

pytestmark = pytest.mark.timeout(300)
VICTIM = 2
SMALL_BYTES = 64 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs where node 2 of the first cluster will have its data."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    place = tmp_path / "cluster-0" / f"node-{VICTIM}" / "data"
    place.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_BYTES}", "tmpfs", str(place)], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def _fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(bytes(4096))
    return filler


@pytest.mark.long
def test_a_full_disk(
    small_disk: Path, make_cluster: Callable[..., BarnabasCluster], tmp_path: Path, figure: Figure
) -> None:
    cluster = make_cluster()
    company = Company(cluster, tmp_path)
    try:
        for turn in range(2):
            company.await_more()
            filler = _fill(small_disk)
            time.sleep(8)
            company.await_more(200)  # every partition: what it led is led by others
            alive = cluster.nodes[VICTIM].alive()
            filler.unlink()
            if turn or not alive:  # once it has to find back by itself, if it is there
                cluster.kill(VICTIM)
                cluster.start(VICTIM)
            await_whole(cluster)
        company.await_more()
        told = company.check()
        compared = check_replicas(cluster)
    finally:
        company.end()
    stayed = "stayed up" if alive else "had stopped"
    figure("full-disk", acknowledged=company.acknowledged)
    print(f"\na full disk, twice: {told}; {compared >> 10} KiB of replicas identical; the node {stayed}")


def _send(cluster: BarnabasCluster, topic: str, partition: int, value: bytes, seconds: float) -> str:
    """What became of one record: nothing, or why it was not delivered in time."""
    told: list[str] = []
    timeout_ms = int(seconds * 1000)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "message.timeout.ms": timeout_ms})
    producer.produce(
        topic, value, partition=partition, on_delivery=lambda e, _: told.append("" if e is None else str(e))
    )
    producer.flush(seconds + 10)
    return told[0]


def _read(cluster: BarnabasCluster, topic: str, partition: int, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[bytes] = []
    until(lambda: _more(consumer, found) >= count, f"{count} records of {topic}-{partition}", 30)
    consumer.close()
    return found


def _more(consumer: Consumer, found: list[bytes]) -> int:
    message = consumer.poll(0.5)
    if message is not None and message.error() is None:
        found.append(bytes(message.value() or b""))
    return len(found)


def test_what_only_a_full_node_has_is_still_read(
    small_disk: Path, make_cluster: Callable[..., BarnabasCluster]
) -> None:
    cluster = make_cluster()
    cluster.create("shared", 3, 3, min_insync_replicas="2")
    cluster.create("single", 3, 1)
    own = next(index for index in range(3) if cluster.leader("single", index) == VICTIM)
    assert _send(cluster, "single", own, b"before", 30) == ""
    filler = _fill(small_disk)
    assert _send(cluster, "single", own, bytes(100_000), 3) != ""
    for index in range(3):
        assert _send(cluster, "shared", index, b"led by others", 30) == ""
    cluster.create("made-meanwhile", 1, 3)  # the full node hears of changes: its metadata log has space kept for it
    assert _read(cluster, "single", own, 1) == [b"before"]
    until(lambda: not cluster.metadata(VICTIM, ["made-meanwhile"])["topics"][0]["error_code"], "the node knows it", 30)
    assert all(cluster.leader("shared", index) != VICTIM for index in range(3))
    filler.unlink()
    cluster.await_isr("shared", 3, 3)
    assert _send(cluster, "single", own, b"after", 30) == ""
    assert _read(cluster, "single", own, 2) == [b"before", b"after"]
    assert cluster.nodes[VICTIM].alive()
