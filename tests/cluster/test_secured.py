"""Nodes that log in at each other: by certificates under TLS, as `up --secure` sets it up, and by passwords."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.cluster.load import TimedWriter
from tests.crash.load import check_books, read_all
from tests.support.cluster import CHAOS, BarnabasCluster
from tests.support.nodes_security import allow, by_certificate, by_password, create_user

pytestmark = pytest.mark.timeout(120)
PARTITIONS = 3
IDEMPOTENT = {"enable.idempotence": True, "message.timeout.ms": 60_000, "linger.ms": 0}
LIFETIME_MS = 5_000  # half of it has to be enough for a login on a busy machine
KILLS = 10 if CHAOS else 3


def test_nodes_log_in_again_before_their_login_ends(make_cluster: Callable[..., BarnabasCluster]) -> None:
    """KIP-368: connections between nodes live on; a node that did not would be cut off every five seconds."""
    cluster = make_cluster(secured=partial(by_password, reauth_ms=LIFETIME_MS))
    cluster.create("orders", PARTITIONS, min_insync_replicas="3")
    writer = TimedWriter(cluster.bootstrap, "orders", PARTITIONS, 200, **IDEMPOTENT)
    begun = time.monotonic()
    while time.monotonic() < begun + 1.5 * LIFETIME_MS / 1000:
        writer.await_more(50)
    writer.finish()
    check_books(writer, read_all(cluster.bootstrap, "orders", PARTITIONS), idempotent=True)
    for node in cluster.nodes.values():
        assert "before the client has logged in" not in node.log_path.read_text()


def test_a_leader_is_killed_under_tls(
    make_cluster: Callable[..., BarnabasCluster], capsys: pytest.CaptureFixture[str]
) -> None:
    """Clients log in by SCRAM and nodes by certificate, on one listener; a killed node is missed as soon as without."""
    cluster = make_cluster(secured=by_certificate)
    client = users_of(cluster, "orders")
    cluster.create("orders", PARTITIONS, min_insync_replicas="2")
    writer = TimedWriter(cluster.nodes_bootstrap, "orders", PARTITIONS, 500, **IDEMPOTENT, **client)
    gaps = []
    for _ in range(KILLS):
        writer.await_more(300)
        victim = cluster.leader("orders", 0)
        cluster.kill(victim)
        killed = time.monotonic()
        writer.await_partition(0, killed, 30)
        gaps.append(writer.gap(0, killed))
        cluster.start(victim)
        cluster.await_isr("orders", 3, PARTITIONS)
    writer.finish()
    assert not writer.failed, writer.failed[:3]
    check_books(writer, read_all(cluster.bootstrap, "orders", PARTITIONS), idempotent=True)
    median = statistics.median(gaps)
    with capsys.disabled():
        print(f"\n{KILLS} leaders killed under TLS: {len(writer.acked)} acknowledged, 0 lost, 0 twice; ", end="")
        print(f"writing again p50 {median:.2f} s, worst {max(gaps):.2f} s")
    assert max(gaps) <= 5, gaps


@pytest.mark.long
def test_a_paused_node_and_a_cut_link_under_tls(make_cluster: Callable[..., BarnabasCluster]) -> None:
    """Half-open connections: nobody says that they end. The cluster goes on, and takes the node back afterwards."""
    cluster = make_cluster(secured=by_certificate, linked=True)
    assert cluster.links is not None
    cluster.create("orders", PARTITIONS, min_insync_replicas="2")
    settings = {**IDEMPOTENT, "socket.timeout.ms": 2000}
    writer = TimedWriter(cluster.bootstrap, "orders", PARTITIONS, 300, **settings)
    for cut in (False, True):
        writer.await_more(200)
        victim = cluster.leader("orders", 0)
        begun = time.monotonic()
        if cut:
            cluster.links.cut_off(victim)
        else:
            cluster.pause(victim)
        others = [number for number in cluster.up if number != victim]
        moved = partial(led_by_another, cluster, others[0], victim)
        cluster.until(moved, "another leader", 30)
        writer.await_partition(0, begun + 3, 40)
        if cut:
            cluster.links.heal()
        else:
            cluster.resume(victim)
        cluster.await_isr("orders", 3, PARTITIONS)
    writer.finish()
    assert not writer.failed, writer.failed[:3]
    check_books(writer, read_all(cluster.bootstrap, "orders", PARTITIONS), idempotent=True)


def led_by_another(cluster: BarnabasCluster, ask: int, victim: int) -> bool:
    return cluster.partition("orders", ask=ask)["leader_id"] not in (victim, -1)


def users_of(cluster: BarnabasCluster, topic: str) -> dict[str, str]:
    """A user who may write to the topic: librdkafka's settings for the secured listener."""
    assert cluster.security is not None
    create_user(cluster.bootstrap)
    allow(cluster.bootstrap, topic)
    client = cluster.security.client(cluster.nodes_bootstrap)
    del client["bootstrap.servers"]
    return client
