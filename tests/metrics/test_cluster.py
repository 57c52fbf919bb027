"""Three nodes: sums count everything once, lag is known of partitions led elsewhere, and a dead node shows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.observe.samples import Metrics
from barnabas.observe.scrape import NodeScraper, ScrapeFailed
from tests.metrics.conftest import until
from tests.support.members import QUIET
from tests.support.pages import BIN
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

PARTITIONS = 6
TOPICS = "kafka_server_brokertopicmetrics_"


class Cluster:
    def __init__(self, folder: Path) -> None:
        ports, metrics = ({number: free_port() for number in (1, 2, 3)} for _ in range(2))
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in ports.items())
        self.urls = {number: f"http://127.0.0.1:{port}" for number, port in metrics.items()}
        self.nodes = {
            number: BarnabasNode(
                folder / str(number),
                {
                    "node.id": str(number),
                    "controller.quorum.voters": voters,
                    "metrics.listeners": self.urls[number],
                    "group.initial.rebalance.delay.ms": "0",
                    "offsets.topic.num.partitions": "3",
                },
                port,
            )
            for number, port in ports.items()
        }
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports.values())

    def metrics(self, number: int, *, partitions: bool = False) -> Metrics | None:
        try:
            return NodeScraper(self.urls[number]).metrics(partitions=partitions)
        except ScrapeFailed:
            return None

    def total(self, name: str, **labels: str) -> float:
        found = [self.metrics(number) for number in self.nodes]
        return sum(each.value(name, **labels) or 0 for each in found if each is not None)

    def ready(self) -> bool:
        return self.total("barnabas_ready") == 3


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("three"))
    try:
        for node in made.nodes.values():
            node.launch()
        until(made.ready, 60)
        admin = AdminClient({**QUIET, "bootstrap.servers": made.bootstrap})
        admin.create_topics([NewTopic("t", PARTITIONS, 3), NewTopic("single", PARTITIONS, 1)])["t"].result(20)
        yield made
    finally:
        for node in made.nodes.values():
            node.stop()


def produce(cluster: Cluster, topic: str, records: int) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(records):
        producer.produce(topic, b"x" * 50, partition=number % PARTITIONS)
    assert producer.flush(30) == 0


def test_sums_over_nodes_count_everything_once(cluster: Cluster) -> None:
    produce(cluster, "t", 600)
    assert cluster.total(f"{TOPICS}messagesin_total", topic="t") == 600
    bytes_in = cluster.total(f"{TOPICS}bytesin_total", topic="t")
    until(lambda: cluster.total(f"{TOPICS}replicationbytesin_total", topic="t") == 2 * bytes_in)
    assert cluster.total(f"{TOPICS}replicationbytesout_total", topic="t") == 2 * bytes_in
    assert cluster.total("kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert cluster.total("kafka_brokers") == 3
    assert cluster.total("kafka_topic_partitions", topic="t") == PARTITIONS
    partitions = cluster.total("kafka_controller_kafkacontroller_globalpartitioncount")
    assert cluster.total("kafka_server_replicamanager_leadercount") == partitions
    until(lambda: cluster.total("barnabas_quorum_lag_records", replica="2") < 10)


def test_lag_of_partitions_that_others_lead(cluster: Cluster) -> None:
    """Of one replica each: the coordinator of the group can lead and hold at most some of them."""
    produce(cluster, "single", 600)
    consumer = Consumer(
        {**QUIET, "bootstrap.servers": cluster.bootstrap, "group.id": "far", "enable.auto.commit": False}
    )
    offsets = [TopicPartition("single", number, 30) for number in range(PARTITIONS)]
    consumer.commit(offsets=offsets, asynchronous=False)
    labels = {"consumergroup": "far", "topic": "single"}
    until(lambda: cluster.total("kafka_consumergroup_lag_sum", **labels) == 600 - 30 * PARTITIONS, 40)
    until(lambda: 0 < cluster.total("kafka_consumergroup_lag_seconds", **labels) < 120, 40)
    consumer.commit(offsets=[TopicPartition("single", n, 100) for n in range(PARTITIONS)], asynchronous=False)
    until(lambda: cluster.total("kafka_consumergroup_lag_sum", **labels) == 0, 40)
    consumer.close()
    told = sum(
        "far" in str(each and list(each.rows("kafka_consumergroup_members")))
        for each in map(cluster.metrics, (1, 2, 3))
    )
    assert told == 1, "only its coordinator tells of a group"


def top(cluster: Cluster) -> dict[str, Any]:
    command = [str(BIN / "barnabas"), "top", "--once", "--json", "--bootstrap", cluster.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_dead_node_shows_in_the_others_and_in_top(cluster: Cluster) -> None:
    seen = top(cluster)
    assert [node["up"] for node in seen["nodes"]] == [True, True, True] and seen["problems"] == []
    assert {topic["topic"] for topic in seen["topics"]} >= {"t", "single"}
    assert any(group["group"] == "far" and group["lag"] == 0 for group in seen["groups"])
    cluster.nodes[3].kill()
    until(lambda: cluster.total("kafka_server_replicamanager_underreplicatedpartitions") >= PARTITIONS, 40)
    problems = " ".join(top(cluster)["problems"])
    assert "partitions lack an in-sync replica" in problems
    cluster.nodes[3].start()
    until(lambda: cluster.ready() and not cluster.total("kafka_server_replicamanager_underreplicatedpartitions"), 60)
    assert cluster.total("kafka_server_replicamanager_isrshrinks_total") >= PARTITIONS
    assert cluster.total("kafka_server_replicamanager_isrexpands_total") >= PARTITIONS
    assert cluster.total("barnabas_controller_elections_total") > 0
