"""10,000 partitions on three nodes: what they cost idle, how long a start takes, and a node's death."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka.admin import AdminClient, NewTopic

from .. import processes
from ..clients import wait_for_leaders
from ..measures import Better, Measure
from ..options import Options
from ..servers import Server
from ..three_node_cluster import ThreeNodeCluster
from ..workload import RunResult, Workload

TOPICS, PARTITIONS = 10, 1000
IDLE_S = 20.0


@dataclass(frozen=True, slots=True)
class ManyCase:
    label: str = "10,000 partitions, three replicas"


class ManyPartitions(Workload[ManyCase]):
    name = "many-partitions"
    title = "10,000 partitions on three nodes"
    warm_up = 0
    measures = (
        Measure("idle_cores_each", "idle, cores a node", "", Better.LOWER, value_goal=0.05, digits=3),
        Measure("start_s", "start of all three to the whole cluster", "s", Better.LOWER, value_goal=5.0),
        Measure("failover_s", "kill -9 of a node, all partitions led again", "s", Better.LOWER, value_goal=2.0),
        Measure("led", "partitions that node led", "", Better.HIGHER, digits=0, comparable=False),
        Measure("memory_mb", "memory of all three", "MB", Better.LOWER, digits=0),
    )

    def cases(self) -> Sequence[ManyCase]:
        return [ManyCase()]

    def run(self, server: Server, case: ManyCase, options: Options) -> RunResult:
        cluster = ThreeNodeCluster(server)
        try:
            cluster.start()
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
            names = [f"many-{number}" for number in range(TOPICS)]
            for name in names:
                admin.create_topics([NewTopic(name, PARTITIONS, 3)], operation_timeout=60)[name].result(120)
            for name in names:
                wait_for_leaders(admin, name, PARTITIONS)
            time.sleep(5)
            before = processes.cpu_s(processes.processes(), cluster.pids)
            time.sleep(IDLE_S)
            idle = (processes.cpu_s(processes.processes(), cluster.pids) - before) / IDLE_S / 3
            memory = cluster.memory_mb()
            for node in cluster.nodes:
                node.kill()
            begin = time.perf_counter()
            cluster.start()
            for name in names:
                wait_for_leaders(admin, name, PARTITIONS)
            started = time.perf_counter() - begin
            time.sleep(5)
            failover, led = _failover(cluster, admin, names)
        finally:
            cluster.remove()
        return {
            "idle_cores_each": round(idle, 4),
            "start_s": round(started, 2),
            "failover_s": round(failover, 2),
            "led": led,
            "memory_mb": memory,
        }


def _failover(cluster: ThreeNodeCluster, admin: AdminClient, names: list[str]) -> tuple[float, int]:
    """Kill the node that leads most: seconds until nothing is led by it, and how much it led."""
    topics = admin.list_topics(timeout=30).topics
    leads = Counter(part.leader for name in names for part in topics[name].partitions.values())
    victim, led = leads.most_common(1)[0]
    cluster.nodes[victim - 1].kill()
    begin = time.perf_counter()
    while time.perf_counter() < begin + 60:
        topics = admin.list_topics(timeout=30).topics
        if all(part.leader not in (victim, -1) for name in names for part in topics[name].partitions.values()):
            return time.perf_counter() - begin, led
        time.sleep(0.02)
    return 60.0, led
