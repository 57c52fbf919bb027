"""Kafka's own tools against a cluster of three."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.crash.load import read_all
from tests.support import java as tools
from tests.support.cluster import BarnabasCluster
from tests.support.java import JavaTools
from tests.support.members import write

pytestmark = pytest.mark.timeout(180)
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"


def test_topics_show_replicas(calm: BarnabasCluster, java: JavaTools) -> None:
    place = ("--bootstrap-server", calm.bootstrap)
    java.run(tools.TOPICS, *place, "--create", "--topic", "tooled", "--partitions", "6")
    calm.await_isr("tooled", 3, 6)
    described = java.run(tools.TOPICS, *place, "--describe", "--topic", "tooled").out
    assert "ReplicationFactor: 3" in described, "three replicas are the default of a cluster of three"
    leaders = re.findall(r"Leader: (\d)", described)
    assert sorted(leaders) == ["1", "1", "2", "2", "3", "3"], "leaders are spread"
    assert java.run(tools.TOPICS, *place, "--describe", "--under-replicated-partitions").out.strip() == ""


def test_metadata_quorum(calm: BarnabasCluster, java: JavaTools) -> None:
    place = ("--bootstrap-server", calm.bootstrap)
    status = java.run(tools.QUORUM, *place, "describe", "--status").out
    assert re.search(rf"LeaderId:\s+{calm.controller()}\b", status), status
    replication = java.run(tools.QUORUM, *place, "describe", "--replication").out
    rows = [line.split() for line in replication.splitlines()[1:] if line.strip()]
    assert sorted(row[0] for row in rows) == ["1", "2", "3"]
    assert sum(row[-1] == "Leader" for row in rows) == 1, replication


def test_leader_election(calm: BarnabasCluster, java: JavaTools, tmp_path: Path) -> None:
    topic = calm.create("elected", 1, 3)
    preferred = calm.partition(topic)["replica_nodes"][0]
    calm.restart(preferred)
    calm.await_isr(topic, 3)
    place = ("--bootstrap-server", calm.bootstrap)
    wanted = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    java.run(tools.LEADER_ELECTION, *place, *wanted, check=False)
    calm.until(lambda: calm.leader(topic) == preferred, "the preferred replica leads", 10)


def test_reassign_partitions(calm: BarnabasCluster, java: JavaTools, tmp_path: Path) -> None:
    topic = calm.create("moved", 1, 1)
    write(calm.bootstrap, topic, [b"%d" % i for i in range(2000)], 1)
    target = next(number for number in (1, 2, 3) if number != calm.leader(topic))
    plan = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [target]}]}
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(plan))
    place = ("--bootstrap-server", calm.bootstrap, "--reassignment-json-file", str(file))
    java.run(REASSIGN, *place, "--execute")
    deadline = time.monotonic() + 30
    while "is complete" not in (said := java.run(REASSIGN, *place, "--verify", check=False).out):
        assert time.monotonic() < deadline, said
        time.sleep(0.2)
    assert calm.partition(topic)["replica_nodes"] == [target]
    assert calm.leader(topic) == target


def test_log_dirs(calm: BarnabasCluster, java: JavaTools) -> None:
    topic = calm.create("sized", 1, 3)
    write(calm.bootstrap, topic, [b"x" * 1000] * 100, 1)
    calm.await_isr(topic, 3)
    said = java.run(tools.LOG_DIRS, "--bootstrap-server", calm.bootstrap, "--describe", "--topic-list", topic).out
    found = json.loads(said.splitlines()[-1])
    sizes = {
        broker["broker"]: part["size"]
        for broker in found["brokers"]
        for folder in broker["logDirs"]
        for part in folder["partitions"]
    }
    assert set(sizes) == {1, 2, 3}
    assert len(set(sizes.values())) == 1, "replicas are of one size"


def test_verifiable_clients_through_a_rolling_restart(calm: BarnabasCluster, java: JavaTools) -> None:
    import threading

    topic = calm.create("verified", 2, 3, min_insync_replicas="2")
    result: list[tools.ToolResult] = []
    count = 4000
    arguments = ("--bootstrap-server", calm.bootstrap, "--topic", topic, "--max-messages", str(count), "--throughput")
    producing = threading.Thread(
        target=lambda: result.append(java.run_alone(tools.VERIFIABLE_PRODUCER, *arguments, "700", timeout_seconds=90))
    )
    producing.start()
    time.sleep(2)
    for number in (1, 2, 3):
        calm.restart(number)
        calm.await_isr(topic, 3, 2)
    producing.join(90)
    said = [json.loads(line) for line in result[0].out.splitlines() if line.startswith("{")]
    acked = {each["value"] for each in said if each["name"] == "producer_send_success"}
    assert len(acked) > 0.9 * count, result[0].err[-2000:]  # this producer never tries twice
    consumed = java.run_alone(
        tools.VERIFIABLE_CONSUMER,
        "--bootstrap-server", calm.bootstrap, "--topic", topic, "--group-id", "verified",
        "--max-messages", str(len(acked)), "--reset-policy", "earliest", "--verbose",
    )  # fmt: skip
    lines = [json.loads(line) for line in consumed.out.splitlines() if line.startswith("{")]
    values = [each["value"] for each in lines if each["name"] == "record_data"]
    assert len(set(values)) == len(values) >= len(acked), "a record is there twice, or not at all"
    there = {value for records in read_all(calm.bootstrap, topic, 2).values() for _, value in records}
    assert there >= set(map(int, acked)), "an acknowledged record is missing"
