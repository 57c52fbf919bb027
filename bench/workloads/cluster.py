"""Three nodes of ours beside three of Apache Kafka: replication factor 3, min.insync.replicas 2, acks=all."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from confluent_kafka.admin import AdminClient

from ..clients import blast, payloads, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..stats import latency_summary
from ..three_node_cluster import ThreeNodeCluster
from ..three_node_workload import ThreeNodeWorkload
from ..workload import RunResult

RECORDS = {100: 1_500_000, 1024: 400_000}
RATE = 1000
_IMPATIENT = {
    "reconnect_backoff_ms": 20,
    "reconnect_backoff_max_ms": 200,
    "retry_backoff_ms": 20,
    "retry_backoff_max_ms": 100,
    "topic_metadata_refresh_fast_interval_ms": 50,
}


@dataclass(frozen=True, slots=True)
class ClusterCase:
    kind: str
    size: int = 100

    @property
    def label(self) -> str:
        if self.kind == "produce":
            return f"produce {'1 KiB' if self.size == 1024 else f'{self.size} B'}, 6 partitions"
        return {"latency": f"{RATE:,}/s, linger 0", "failover": "kill -9 of a leader"}[self.kind]


class Cluster(ThreeNodeWorkload[ClusterCase]):
    name = "cluster"
    title = "Three nodes, three replicas, acks=all"
    warm_up = 0.3
    measures = (
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_million", "CPU of all servers per million", "s", Better.LOWER, ratio_goal=0.6),
        Measure("memory_mb", "memory of all three", "MB", Better.LOWER, ratio_goal=0.2, digits=0),
        Measure("ack_p50_ms", "produce to ack, p50", "ms", Better.LOWER),
        Measure("ack_p99_ms", "produce to ack, p99", "ms", Better.LOWER, ratio_goal=0.5),
        Measure("unavailable_s", "without an ack", "s", Better.LOWER, ratio_goal=0.2),
        Measure("lost", "acknowledged and lost", "", Better.LOWER, value_goal=0, digits=0),
    )
    measured = {
        "produce": ("records_per_s", "cpu_s_per_million", "memory_mb"),
        "latency": ("ack_p50_ms", "ack_p99_ms"),
        "failover": ("unavailable_s", "lost"),
    }

    def cases(self) -> Sequence[ClusterCase]:
        return [
            ClusterCase("produce", 100),
            ClusterCase("produce", 1024),
            ClusterCase("latency"),
            ClusterCase("failover"),
        ]

    def run(self, server: Server, case: ClusterCase, options: Options) -> RunResult:
        cluster = self.cluster(server)
        with topic(cluster.bootstrap, 6 if case.kind == "produce" else 1, 3, min_insync_replicas="2") as name:
            if case.kind == "produce":
                return _produce(cluster, name, case.size, options.count(RECORDS[case.size]))
            if case.kind == "latency":
                return _latency(cluster, name, options.seconds(10))
            return _failover(cluster, name)


def _produce(cluster: ThreeNodeCluster, name: str, size: int, records: int) -> RunResult:
    client = producer(cluster.bootstrap)
    client.list_topics(name, timeout=10)
    values = payloads(size)
    meter = Meter(cluster)
    blast(client, name, values, records)
    return meter.stop(records=records, record_bytes=size) | {"memory_mb": cluster.memory_mb()}


def _latency(cluster: ThreeNodeCluster, name: str, seconds: float) -> RunResult:
    client = producer(cluster.bootstrap, linger_ms=0, socket_nagle_disable=True, delivery_report_only_error=False)
    meter = Meter(cluster)
    took: list[float] = []

    def report(error: object, message: Any) -> None:
        if error is None:
            took.append(message.latency() * 1e3)

    begin = time.perf_counter()
    total = int(RATE * (2 + seconds))
    for number in range(total):
        while (left := begin + number / RATE - time.perf_counter()) > 0:
            client.poll(min(left, 0.001))
        client.produce(name, bytes(100), on_delivery=report)
    client.flush(60)
    if len(took) < total:
        raise TimeoutError(f"only {len(took)} of {total} records are acknowledged")
    return meter.stop(records=total) | latency_summary(took[2 * RATE :], "ack")


def _failover(cluster: ThreeNodeCluster, name: str) -> RunResult:
    """The longest silence between two acks when the leader is killed under 1,000 records a second."""
    client = producer(
        cluster.bootstrap, linger_ms=0, enable_idempotence=True, delivery_report_only_error=False,
        message_timeout_ms=120_000, **_IMPATIENT,
    )  # fmt: skip
    acks: list[float] = []
    places: set[int] = set()

    def report(error: object, message: Any) -> None:
        if error is None:
            acks.append(time.perf_counter())
            places.add(message.offset())

    def send(seconds: float) -> None:
        begin, number = time.perf_counter(), 0
        while (now := time.perf_counter()) < begin + seconds:
            while number < (now - begin) * RATE:
                client.produce(name, bytes(100), on_delivery=report)
                number += 1
            client.poll(0.001)

    send(3)
    leader = (
        AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(name, timeout=10).topics[name].partitions[0]
    )
    victim = cluster.nodes[leader.leader - 1]
    victim.kill()
    killed = time.perf_counter()
    while not (acks and acks[-1] > killed + 1) and time.perf_counter() < killed + 60:
        send(1)
    send(3)
    client.flush(60)
    gap = max((b - a for a, b in pairwise(acks) if b > killed), default=60.0)
    victim.start()
    cluster.wait_ready()
    end = _end_offset(cluster, name)
    return {"unavailable_s": round(gap, 3), "lost": sum(place >= end for place in places)}


def _end_offset(cluster: ThreeNodeCluster, name: str) -> int:
    from confluent_kafka import TopicPartition

    from ..clients import consumer

    reader = consumer(cluster.bootstrap, group_id="bench-unused", enable_auto_commit=False)
    _, end = reader.get_watermark_offsets(TopicPartition(name, 0), timeout=30)
    reader.close()
    return int(end)
