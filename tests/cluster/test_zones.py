"""One cluster over three zones, with latency and lost packets between them: a zone is killed, cut off, half cut off.

Every write is acknowledged from two zones (`min.insync.zones=2`), so nothing acknowledged may be lost with one.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from tests.cluster.company import TOPIC, Company
from tests.cluster.test_growth import barnabas
from tests.cluster.whole import await_whole, check_whole
from tests.support.cluster import CHAOS, BarnabasCluster
from tests.support.figures import Figure
from tests.support.members import QUIET, until
from tests.support.process import end

pytestmark = pytest.mark.timeout(1800 if CHAOS else 180)
ZONES = "abcabc"  # of six nodes
ROUNDS = 20 if CHAOS else 2
PARTITIONS = 6
ONE_WAY_SECONDS, LOSS = 0.002, 0.001
OUTAGE_SECONDS = 6.0  # beyond the session of a broker
KILLED, CUT_OFF, HALF_CUT_OFF = "killed", "cut off", "half cut off"
SHORT = [(KILLED, "a"), (HALF_CUT_OFF, "b")]  # in `make test`; the order is that of faults and zones in `make chaos`


def rounds() -> Iterator[tuple[str, str]]:
    every = product((KILLED, CUT_OFF, HALF_CUT_OFF), "abc")
    return islice(cycle(every), ROUNDS) if CHAOS else iter(SHORT)


def begin(cluster: BarnabasCluster, fault: str, zone: str) -> None:
    here = cluster.zone(zone)
    others = [number for number in cluster.nodes if number not in here]
    assert cluster.links is not None
    if fault == KILLED:
        cluster.kill(*here)
    elif fault == CUT_OFF:
        cluster.links.cut(here, others)
    else:  # from one of the two other zones: each of them sees the third
        cluster.links.cut(
            here, [number for number in others if cluster.zones[number] == "abcab"["abc".index(zone) + 1]]
        )


def finish(cluster: BarnabasCluster, fault: str, zone: str) -> None:
    assert cluster.links is not None
    if fault == KILLED:
        cluster.start(*cluster.zone(zone))
    cluster.links.heal()
    await_whole(cluster, 90)


def test_a_zone_is_lost_again_and_again(
    make_cluster: Callable[..., BarnabasCluster], tmp_path: Path, figure: Figure
) -> None:
    cluster = make_cluster(linked=True, zones=ZONES)
    assert cluster.links is not None
    cluster.links.delay([cluster.zone(each) for each in "abc"], ONE_WAY_SECONDS)
    cluster.links.loss = LOSS
    company = Company(cluster, tmp_path, PARTITIONS, java=False, min_insync_zones="2")
    for index in range(PARTITIONS):
        replicas = cluster.partition(TOPIC, index)["replica_nodes"]
        assert sorted(cluster.zones[each] for each in replicas) == ["a", "b", "c"]
    gaps: dict[str, list[float]] = {KILLED: [], CUT_OFF: [], HALF_CUT_OFF: []}
    try:
        for fault, zone in rounds():
            company.await_more()
            begun = time.monotonic()
            begin(cluster, fault, zone)
            if fault != KILLED:
                time.sleep(OUTAGE_SECONDS)
            company.await_more(120)
            gaps[fault].append(max(company.writer.gap(index, begun) for index in range(PARTITIONS)))
            finish(cluster, fault, zone)
        company.await_more()
        told = company.check()
    finally:
        company.end()
    figure(
        "zones",
        rounds=sum(map(len, gaps.values())),
        acknowledged=company.acknowledged,
        killed_median_s=statistics.median(gaps[KILLED]),
        killed_worst_s=max(gaps[KILLED]),
        cut_worst_s=max((*gaps[CUT_OFF], *gaps[HALF_CUT_OFF])),
    )
    shown = {fault: [round(each, 2) for each in found] for fault, found in gaps.items()}
    print(f"\n{ROUNDS} rounds: {told}; {check_whole(cluster)}; writing again after {shown} s")
    assert max(gaps[KILLED]) < 5, gaps
    assert max((*gaps[CUT_OFF], *gaps[HALF_CUT_OFF])) < 30, gaps


def test_zones_that_are_not_there_are_said(make_cluster: Callable[..., BarnabasCluster]) -> None:
    """They may come: nothing is refused. For a topic, and for all nodes."""
    cluster = make_cluster(zones="ab")

    def said(*words: str) -> str:
        command = [sys.executable, "-m", "barnabas.cli.main", *words, "-b", cluster.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return done.stderr

    there = "the zones are a, b"
    warning = said("topic", "create", "t", "--set", "leader.preferred.racks=a,q", "--set", "min.insync.zones=3")
    assert f"warning: leader.preferred.racks: no node that is up is in q; {there}" in warning
    assert f"warning: min.insync.zones=3: the nodes that are up are in 2; {there}" in warning
    assert said("topic", "alter", "t", "--set", "leader.preferred.racks=b", "--set", "min.insync.zones=2") == ""
    assert "is in x" in said("config", "set", "topic", "t", "leader.preferred.racks=x")
    assert "min.insync.zones=3" in said("config", "set", "node", "all", "min.insync.zones=3")
    assert said("config", "set", "node", "all", "min.insync.zones=1") == ""


def test_a_consumer_reads_in_its_own_zone(make_cluster: Callable[..., BarnabasCluster]) -> None:
    """KIP-392: what librdkafka receives from the leader's zone are answers that name the replica, not records."""
    cluster = make_cluster(
        zones="abc",
        replica_selector_class="org.apache.kafka.common.replica.RackAwareReplicaSelector",
        leader_preferred_racks="a",
    )
    topic = cluster.create("orders", 3)
    assert {cluster.leader(topic, index) for index in range(3)} == {1}, "leaders are in the preferred zone"
    received: dict[int, int] = {}

    def statistics_told(text: str) -> None:
        for broker in json.loads(text)["brokers"].values():
            received[broker["nodeid"]] = broker["rxbytes"]

    producer = Producer({**QUIET, "bootstrap.servers": cluster.bootstrap, "acks": "all"})
    size, count = 1_000, 6_000
    settings: dict[str, Any] = {
        **QUIET, "bootstrap.servers": cluster.bootstrap, "group.id": "readers", "client.rack": "c",
        "statistics.interval.ms": 100, "stats_cb": statistics_told, "enable.auto.commit": False,
    }  # fmt: skip
    reader = Consumer(settings)
    reader.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(3)])
    seen = 0
    try:
        for number in range(count):
            producer.produce(topic, b"x" * size, partition=number % 3)
            if number == 0:
                producer.flush(10)
                assert reader.consume(1, 10), "it knows by now where to read"
                seen = 1
            producer.poll(0)
        assert producer.flush(30) == 0
        deadline = time.monotonic() + 30
        while seen < count:
            assert time.monotonic() < deadline, f"{seen} of {count}"
            seen += sum(not each.error() for each in reader.consume(1000, 0.2))
        told = dict(received)
        reader.poll(0.3)
    finally:
        reader.close()
    assert received[3] >= size * count * 0.9, f"by node, its own zone is that of node 3: {received}"
    assert received.get(1, 0) < size * count * 0.05, f"the leader is node 1: {received} ({told})"
    assert received.get(2, 0) < size * count * 0.05, received


def test_two_zones_and_a_witness(tmp_path: Path) -> None:
    """One command starts it; with a data zone killed, the witness keeps the quorum, and the other zone goes on."""
    command = [sys.executable, "-m", "barnabas.cli.main", "up", "--nodes", "3", "--zone", "a,b,c", "--witness"]
    up = subprocess.Popen(
        [*command, "--port", "0", "--quiet", "--data", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    try:
        assert up.stdout is not None
        bootstrap = up.stdout.readline().strip()
        assert bootstrap.count(",") == 1, f"the witness is none for clients: {bootstrap}"
        at = ("-b", bootstrap)
        barnabas("topic", "create", "orders", "--partitions", "3", *at)
        barnabas("topic", "create", "twice", "--set", "min.insync.zones=2", *at)
        told = json.loads(barnabas("cluster", "status", "--json", *at))
        zones = {each["name"]: each for each in told["zones"]}
        assert {name: (each["nodes"], each["voters"], each["replicas"]) for name, each in zones.items()} == {
            "a": ([1], 1, 4), "b": ([2], 1, 4), "c": ([3], 1, 0),
        }  # fmt: skip
        for name in "ab":
            loss = zones[name]["if_lost"]
            assert (loss["quorum_kept"], loss["without_leader"], loss["partitions"]) == (True, 0, ["twice-0"])
        assert zones["c"]["if_lost"]["partitions"] == []
        shown = barnabas("cluster", "status", *at)
        assert "1 partition read-only" in shown and "all is served" in shown
        (victim,) = _pids_of(up.pid, "node.id=1")
        producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "acks": "all", "message.timeout.ms": 30_000})
        acknowledged: list[int] = []
        for number in range(60):
            if number == 20:
                subprocess.run(["kill", "-9", str(victim)], check=True)
            producer.produce("orders", b"%d" % number, on_delivery=lambda error, _: acknowledged.append(error is None))
            producer.poll(0.02)
        assert producer.flush(30) == 0 and all(acknowledged) and len(acknowledged) == 60
        until(lambda: "3 of 3 up" in barnabas("cluster", "status", *at, codes=(0, 3, 4)), "it was started again", 30)
    finally:
        up.terminate()
        try:
            assert up.wait(30) == 0
        finally:
            end(up)


def _pids_of(parent: int, setting: str) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(each) for each in children if setting in Path(f"/proc/{each}/cmdline").read_text().split("\0")]
