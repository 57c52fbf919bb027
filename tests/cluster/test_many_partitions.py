"""Thousands of partitions that nobody writes to: all nodes are killed and started again, then one that leads most."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.cluster import BarnabasCluster

pytestmark = pytest.mark.timeout(180)
PARTITIONS = 2_500


def partitions(cluster: BarnabasCluster, topic: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.metadata(cluster.up[0], [topic])["topics"][0]["partitions"]
    return found


def test_in_sync_soon_after_a_start_and_led_by_others_after_a_death(
    make_cluster: Callable[..., BarnabasCluster], capsys: pytest.CaptureFixture[str]
) -> None:
    """After kill -9 of all, whoever was in sync last leads everything alone. The others are in sync again without a
    folder for any of the partitions: nobody has written to them."""
    cluster = make_cluster(broker_session_timeout_ms="9000")
    cluster.create("wide", PARTITIONS)
    cluster.kill(*cluster.up)
    cluster.start()
    started = time.monotonic()
    cluster.until(
        lambda: all(len(each["isr_nodes"]) == 3 for each in partitions(cluster, "wide")),
        "all replicas are in sync",
        20,
    )
    in_sync_s = time.monotonic() - started
    folders = [path for node in cluster.nodes.values() for path in node.data.glob("wide-*")]
    assert not folders, f"{len(folders)} folders, {folders[0]}"
    victim, led = Counter(each["leader_id"] for each in partitions(cluster, "wide")).most_common(1)[0]
    cluster.kill(victim)
    killed = time.monotonic()
    cluster.until(
        lambda: all(each["leader_id"] in cluster.up for each in partitions(cluster, "wide")),
        "every partition is led by a node that is up",
        10,
    )
    with capsys.disabled():
        print(f"\n{PARTITIONS} partitions in sync {in_sync_s:.2f} s after the start; ", end="")
        print(f"{led} led by others {time.monotonic() - killed:.2f} s after a kill")
