"""`cluster balance` and `drain` that cannot be done are refused before anything changes; one that is ended by SIGTERM
takes back what is under way, and leaves no throttle behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest
from confluent_kafka import Producer

from tests.support.cluster import BarnabasCluster
from tests.support.members import until

pytestmark = pytest.mark.timeout(180)

COMMAND = [sys.executable, "-m", "barnabas.cli.main", "cluster"]


def refused(cluster: BarnabasCluster, *words: str, code: int = 1) -> str:
    """The one line that a refusal prints, with nothing on stdout."""
    command = [*COMMAND, *words, "-b", cluster.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), f"{words}: {done.stdout}\n{done.stderr}"
    assert not done.stdout or "--json" not in words, done.stdout
    return done.stderr


def fill(cluster: BarnabasCluster, topic: str, partitions: int, megabytes: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(megabytes * 10):
        producer.produce(topic, bytes(100_000), partition=number % partitions)
        producer.poll(0)
    assert producer.flush(60) == 0


def test_what_cannot_be_moved_is_refused(cluster: BarnabasCluster) -> None:
    everywhere = cluster.create("everywhere", 2, 3)
    assert "there is no node 9. There are 1, 2, 3." in refused(cluster, "drain", "9", "--yes")
    few = refused(cluster, "drain", "3", "--yes", "--json")
    assert f"{everywhere}-0 has 3 replicas and only 2 nodes are left" in few
    assert "node 7 does not follow the quorum" in refused(cluster, "drain", "3", "--promote", "7", "--yes")
    assert "--keep and --promote" in refused(cluster, "drain", "3", "--keep", "--promote", "2", code=2)
    assert "is not a rate" in refused(cluster, "balance", "--throttle", "5XB", code=2)

    only = cluster.create("only", 3, 1)
    alone = next(index for index in range(3) if cluster.leader(only, index) == 3)
    cluster.kill(3)
    until(lambda: cluster.partition(only, alone, ask=1)["leader_id"] < 0, "its partition has no leader")
    stuck = refused(cluster, "drain", "3", "--yes")
    assert f"{only}-{alone} cannot be moved: no replica that has all records is up (replicas 3)" in stuck
    assert cluster.partition(everywhere, 0, ask=1)["replica_nodes"] != [], "nothing has changed"

    cluster.kill(2)
    gone = refused(cluster, "balance", "--yes")
    assert "the quorum has no leader" in gone


def test_sigterm_takes_back_the_moves_under_way(cluster: BarnabasCluster) -> None:
    topic = cluster.create("orders", 3, 1)
    fill(cluster, topic, 3, 30)
    before = [cluster.partition(topic, index)["replica_nodes"] for index in range(3)]
    moving = next(index for index in range(3) if before[index] == [3])
    command = [*COMMAND, "drain", "3", "--yes", "--throttle", "100KB", "-b", cluster.bootstrap]
    drain = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(lambda: len(cluster.partition(topic, moving)["replica_nodes"]) == 2, "the partition is being moved")
        drain.send_signal(signal.SIGTERM)
        _, told = drain.communicate(timeout=60)
    finally:
        drain.kill()
    assert drain.returncode == 1 and "taken back or not begun. Run it again to go on." in told, told
    until(
        lambda: cluster.partition(topic, moving)["replica_nodes"] == [3], "every node has heard that it is taken back"
    )
    assert [cluster.partition(topic, index)["replica_nodes"] for index in range(3)] == before

    ask = [sys.executable, "-m", "barnabas.cli.main", "config", "list", "--changed", "--json", "-b", cluster.bootstrap]
    for of in (("node", "3"), ("topic", topic)):
        done = subprocess.run([*ask, *of], capture_output=True, text=True, timeout=60, check=True)
        assert not [name for name in json.loads(done.stdout) if "throttled" in name]
