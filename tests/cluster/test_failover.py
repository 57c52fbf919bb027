"""The leader is killed, paused, stopped while clients write: nothing acknowledged is lost, nothing is there twice."""

from __future__ import annotations

import statistics
import time
from itertools import pairwise

import pytest

from tests.cluster.load import TimedWriter
from tests.crash.load import Reader, check_books, read_all
from tests.support.cluster import CHAOS, BarnabasCluster
from tests.support.figures import Figure

pytestmark = pytest.mark.timeout(900 if CHAOS else 120)
PARTITIONS = 3
KILLS = 20 if CHAOS else 3
IDEMPOTENT = {"enable.idempotence": True, "message.timeout.ms": 120_000, "linger.ms": 0}


def test_the_leader_is_killed_under_load(
    cluster: BarnabasCluster, figure: Figure, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.create("orders", PARTITIONS, min_insync_replicas="2")
    writer = TimedWriter(cluster.bootstrap, "orders", PARTITIONS, 1000, **IDEMPOTENT)
    reader = Reader(cluster.bootstrap, "orders", "readers")
    gaps = []
    for _ in range(KILLS):
        writer.await_more(500)
        victim = cluster.leader("orders", 0)
        cluster.kill(victim)
        killed = time.monotonic()
        writer.await_partition(0, killed, 30)
        gaps.append(writer.gap(0, killed))
        cluster.start(victim)
        cluster.await_isr("orders", 3, PARTITIONS)
    writer.finish()
    assert not writer.failed, writer.failed[:3]
    found = read_all(cluster.bootstrap, "orders", PARTITIONS)
    check_books(writer, found, idempotent=True)
    time.sleep(0.5)
    reader.finish()
    by_place = {(p, o): v for p, records in found.items() for o, v in records}
    assert all(by_place[p, o] == v for p, records in reader.seen.items() for o, v in records)
    median = statistics.median(gaps)
    if CHAOS:
        figure("failover", kills=KILLS, acknowledged=len(writer.acked), median_s=median, worst_s=max(gaps))
    with capsys.disabled():
        print(f"\n{KILLS} leaders killed: {len(writer.acked)} acknowledged, 0 lost, 0 twice; ", end="")
        print(f"writing again p50 {median:.2f} s, worst {max(gaps):.2f} s")
    assert max(gaps) <= 5, gaps


def test_the_controller_that_leads_too_is_killed(cluster: BarnabasCluster) -> None:
    cluster.create("orders", PARTITIONS, min_insync_replicas="2")
    writer = TimedWriter(cluster.bootstrap, "orders", PARTITIONS, 500, **IDEMPOTENT)
    writer.await_more(200)
    victim = cluster.controller()
    assert victim > 0
    cluster.kill(victim)
    killed = time.monotonic()
    for partition in range(PARTITIONS):
        writer.await_partition(partition, killed, 30)
    cluster.until(lambda: cluster.controller() in cluster.up, "another controller", 10)
    cluster.start(victim)
    writer.finish()
    check_books(writer, read_all(cluster.bootstrap, "orders", PARTITIONS), idempotent=True)


def test_all_nodes_are_killed_at_once(cluster: BarnabasCluster) -> None:
    cluster.create("orders", PARTITIONS, min_insync_replicas="2")
    writer = TimedWriter(cluster.bootstrap, "orders", PARTITIONS, 500, **IDEMPOTENT)
    for _ in range(5 if CHAOS else 1):
        writer.await_more(200)
        cluster.kill(1, 2, 3)
        cluster.start()
    writer.await_more(200)
    writer.finish()
    check_books(writer, read_all(cluster.bootstrap, "orders", PARTITIONS), idempotent=True)


def test_a_paused_leader_does_not_come_back_as_one(cluster: BarnabasCluster) -> None:
    """SIGSTOP beyond every timeout: a zombie wakes up, and nobody obeys it."""
    cluster.create("orders", PARTITIONS, min_insync_replicas="2")
    writer = TimedWriter(cluster.bootstrap, "orders", PARTITIONS, 500, **IDEMPOTENT, **{"socket.timeout.ms": 2000})
    for _ in range(3 if CHAOS else 1):
        writer.await_more(200)
        victim = cluster.leader("orders", 0)
        epoch = cluster.partition("orders")["leader_epoch"]
        cluster.pause(victim)
        paused = time.monotonic()
        other = next(number for number in cluster.up if number != victim)
        cluster.until(
            lambda: cluster.partition("orders", ask=other)["leader_id"] not in (victim, -1),  # noqa: B023
            "another leader",
            30,
        )
        writer.await_partition(0, paused + 3, 30)
        cluster.resume(victim)
        cluster.await_isr("orders", 3, PARTITIONS)
        assert cluster.partition("orders", ask=other)["leader_epoch"] > epoch
    writer.finish()
    check_books(writer, read_all(cluster.bootstrap, "orders", PARTITIONS), idempotent=True)


def test_a_rolling_restart_hands_over_what_a_node_leads(calm: BarnabasCluster) -> None:
    topic = calm.create("rolling", PARTITIONS, min_insync_replicas="2")
    writer = TimedWriter(calm.bootstrap, topic, PARTITIONS, 500, **IDEMPOTENT)
    writer.await_more(100)
    for number in (1, 2, 3):
        calm.restart(number)
        calm.await_isr(topic, 3, PARTITIONS)
    writer.await_more(200)
    writer.finish()
    check_books(writer, read_all(calm.bootstrap, topic, PARTITIONS), idempotent=True)
    worst = max(b - a for times in writer.times.values() for a, b in pairwise(times))
    assert worst < 3, f"a clean restart left a gap of {worst:.1f} s"
