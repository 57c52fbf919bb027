"""Restoring from copied folders: a cluster of one as it is, and one node of three made a cluster of its own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.crash.load import read_all
from tests.support.cluster import BarnabasCluster
from tests.support.members import QUIET
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.timeout(120)


def recover(folder: Path, *words: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "barnabas.cli.main", "cluster", "recover", str(folder), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def write(bootstrap: str, topic: str, partition: int, count: int) -> None:
    failed: list[object] = []
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "acks": "all"})
    for number in range(count):
        producer.produce(
            topic,
            str(number),
            partition=partition,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
    assert producer.flush(20) == 0 and not failed, failed


def count_all(bootstrap: str, topic: str, partitions: int) -> int:
    return sum(len(each) for each in read_all(bootstrap, topic, partitions).values())


def status(bootstrap: str) -> dict[str, object]:
    command = [sys.executable, "-m", "barnabas.cli.main", "cluster", "status", "--json", "-b", bootstrap]
    found: dict[str, object] = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=60).stdout)
    return found


@pytest.mark.parametrize("clean", [True, False])
def test_a_copy_of_a_cluster_of_one_starts_as_it_is(make_cluster: Callable[..., BarnabasCluster], clean: bool) -> None:
    cluster = make_cluster(1)
    topic = cluster.create("orders", 1, 1)
    write(cluster.bootstrap, topic, 0, 100)
    node = cluster.nodes[1]
    assert "in use by another process" in recover(node.data, "--yes", code=1)
    if clean:
        node.stop()
    copy = BarnabasNode(cluster.folder / "copy")
    shutil.copytree(node.data, copy.data)
    node.kill()
    assert "nothing to recover" in recover(copy.data)
    copy.start()
    try:
        assert count_all(copy.bootstrap, topic, 1) == 100
        write(copy.bootstrap, topic, 0, 10)
    finally:
        copy.stop()


def test_an_older_folder_of_one_node_is_put_back(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 3, 3)
    write(cluster.bootstrap, topic, 0, 50)
    cluster.stop_one(3)
    data, copy = cluster.nodes[3].data, cluster.folder / "copy"
    shutil.copytree(data, copy)
    cluster.start(3)
    cluster.await_isr(topic, 3, 3)
    write(cluster.bootstrap, topic, 1, 50)
    cluster.create("later", 1, 3)
    cluster.kill(3)
    shutil.rmtree(data)
    shutil.copytree(copy, data)
    cluster.start(3)
    cluster.await_isr(topic, 3, 3)
    cluster.await_isr("later", 3)
    assert count_all(cluster.bootstrap, topic, 3) == 100
    for index in (0, 1):
        ends = {
            cluster.folder_of(number, topic, index).joinpath(f"{0:020d}.log").stat().st_size for number in (1, 2, 3)
        }
        assert len(ends) == 1, "every replica has the same bytes"


def test_a_copy_made_while_the_node_ran_is_recovered(cluster: BarnabasCluster) -> None:
    """As after a power loss: not closed, from another boot of the machine, and its quorum-state damaged."""
    topic = cluster.create("orders", 3, 3)
    for index in range(3):
        write(cluster.bootstrap, topic, index, 50)
    copy = BarnabasNode(cluster.folder / "copy", {"node.id": "2", **cluster.settings})
    shutil.copytree(cluster.nodes[2].data, copy.data)
    cluster.kill(1, 2, 3)
    (copy.data / "last-life.json").unlink()
    (copy.data / "__cluster_metadata-0" / "quorum-state").write_text("{")
    recover(copy.data, "--yes")
    copy.start()
    try:
        assert count_all(copy.bootstrap, topic, 3) == 150
        write(copy.bootstrap, topic, 0, 10)
    finally:
        copy.stop()


def test_one_folder_of_three_becomes_a_cluster(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 3, 3)
    single = cluster.create("single", 3, 1)
    for index in range(3):
        write(cluster.bootstrap, topic, index, 50)
    mine = next(index for index in range(3) if cluster.leader(single, index) == 1)
    write(cluster.bootstrap, single, mine, 20)
    cluster.await_isr(topic, 3, 3)
    cluster.stop_one(1)  # a copy of a clean stop; the others go on and have in-sync lists without it
    cluster.until(lambda: cluster.leader(topic, 0) in (2, 3), "others lead", 20)
    cluster.kill(2, 3)
    folder = cluster.nodes[1].data
    assert "Nobody is here to answer. Say --yes." in recover(folder, code=2)
    assert "is no data folder" in recover(folder / "nothing", code=1)
    before = (folder / "meta.properties").read_text()
    told = recover(folder, "--yes")
    assert "what only nodes 2, 3 had is lost. Node 1 will lead the" in told
    assert "2 partitions it has no replica of will have no leader" in told

    cluster.start(1)
    bootstrap = cluster.nodes[1].bootstrap
    assert count_all(bootstrap, topic, 3) == 150
    assert cluster.leader(single, mine) == 1
    assert [cluster.leader(single, index) for index in range(3) if index != mine] == [-1, -1]
    assert status(bootstrap)["voters"] == [1]
    new_id = str(status(bootstrap)["cluster_id"])
    assert new_id not in before and f"of the new cluster {new_id}" in told
    write(bootstrap, topic, 0, 10)

    shutil.rmtree(cluster.nodes[2].data)
    again = cluster.nodes[2]
    cluster.nodes[2] = cluster._node(2, again.port, {"controller.quorum.bootstrap.servers": bootstrap})
    cluster.start(2)
    cluster.await_isr(topic, 2, 3)
    cluster.restart(1)
    assert status(bootstrap)["cluster_id"] == new_id
    assert count_all(cluster.bootstrap, topic, 3) == 160
    assert [cluster.leader(single, index) for index in range(3) if index != mine] == [-1, -1], "an empty disk leads not"
