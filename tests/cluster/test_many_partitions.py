"""Thousands of partitions: all nodes are killed or stopped and started again, then the leader of most is killed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.cluster import BarnabasCluster
from tests.support.wire import PRODUCE, WireClient, batch

pytestmark = pytest.mark.timeout(180)
PARTITIONS = 2_500
WRITTEN = 1_500  # partitions with a record: to write the first one makes a folder on three nodes


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
    led, seconds = kill_the_leader_of_most(cluster)
    with capsys.disabled():
        print(f"\n{PARTITIONS} partitions in sync {in_sync_s:.2f} s after the start; ", end="")
        print(f"{led} led by others {seconds:.2f} s after a kill")


def kill_the_leader_of_most(cluster: BarnabasCluster) -> tuple[int, float]:
    """How many partitions it led, and after how many seconds all were led by others."""
    victim, led = Counter(each["leader_id"] for each in partitions(cluster, "wide")).most_common(1)[0]
    cluster.kill(victim)
    killed = time.monotonic()
    cluster.until(
        lambda: all(each["leader_id"] in cluster.up for each in partitions(cluster, "wide")),
        "every partition is led by a node that is up",
        10,
    )
    return led, time.monotonic() - killed


def write_one_record_to_each(cluster: BarnabasCluster) -> None:
    led: dict[int, list[int]] = {}
    for each in partitions(cluster, "wide"):
        led.setdefault(each["leader_id"], []).append(each["partition_index"])
    for leader, indexes in led.items():
        with WireClient(cluster.nodes[leader].bootstrap, 60) as client:
            records = [{"index": index, "records": batch([b"one"])} for index in indexes]
            topics = [{"name": "wide", "partition_data": records}]
            body = {"transactional_id": None, "acks": -1, "timeout_ms": 60_000, "topic_data": topics}
            answer = client.call(PRODUCE, 8, body)
            codes = {each["error_code"] for each in answer["responses"][0]["partition_responses"]}
            assert codes == {0}


@pytest.mark.parametrize("end", ["killed", "stopped"])
def test_partitions_with_records_are_in_sync_soon_after_a_start(
    make_cluster: Callable[..., BarnabasCluster], capsys: pytest.CaptureFixture[str], end: str
) -> None:
    """Each replica has to open its log before it can say how far it is."""
    cluster = make_cluster(broker_session_timeout_ms="9000")
    cluster.create("wide", WRITTEN)
    write_one_record_to_each(cluster)
    if end == "killed":
        cluster.kill(*cluster.up)
    else:
        cluster.stop()
    cluster.start()
    started = time.monotonic()
    cluster.until(
        lambda: all(len(each["isr_nodes"]) == 3 for each in partitions(cluster, "wide")),
        "all replicas are in sync",
        20,
    )
    in_sync_s = time.monotonic() - started
    led, seconds = kill_the_leader_of_most(cluster)
    with capsys.disabled():
        print(
            f"\n{WRITTEN} partitions with records, all nodes {end}: in sync {in_sync_s:.2f} s after the start; ", end=""
        )
        print(f"{led} led by others {seconds:.2f} s after a kill")
