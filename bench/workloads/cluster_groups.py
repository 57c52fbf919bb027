"""Three nodes, three replicas: a copy in many small transactions, and a group that reads while its topic is written.

The copy is Kafka's own client: consume, transform, produce, ten records a transaction, the offsets committed with them
(tests/java/CopyLoop.java). Its records are acknowledged before a commit is timed. The group is librdkafka: three
members read what one producer writes at the same time; the clock stops with the last record.
"""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..clients import blast, consumer, new_group, payloads, producer, topic
from ..jars import ROOT
from ..java import ToolFailed
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..three_node_cluster import ThreeNodeCluster
from ..three_node_workload import ThreeNodeWorkload
from ..workload import RunResult

PARTITIONS, MEMBERS = 6, 3
RECORDS_A_TRANSACTION = 10
WAIT_S = 240
FULL = {"copy": 200, "group": 300_000}  # transactions, records


@dataclass(frozen=True, slots=True)
class GroupsCase:
    kind: str

    @property
    def label(self) -> str:
        return {
            "copy": f"copy, {RECORDS_A_TRANSACTION} records a transaction, Java",
            "group": f"{MEMBERS} members read while it is written",
        }[self.kind]


class ClusterGroups(ThreeNodeWorkload[GroupsCase]):
    name = "cluster-groups"
    title = "Three nodes: small transactions, and a group beside its producer"
    warm_up = 0.3
    measures = (
        Measure("transactions_per_s", "transactions/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=1),
        Measure("commit_p50_ms", "commit, p50", "ms", Better.LOWER, ratio_goal=1.0),
        Measure("commit_p99_ms", "commit, p99", "ms", Better.LOWER, ratio_goal=1.0),
        Measure("cpu_ms_per_transaction", "CPU of all servers a transaction", "ms", Better.LOWER),
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_million", "CPU of all servers per million", "s", Better.LOWER),
    )
    measured = {
        "copy": ("transactions_per_s", "commit_p50_ms", "commit_p99_ms", "cpu_ms_per_transaction"),
        "group": ("records_per_s", "cpu_s_per_million"),
    }

    def cases(self) -> Sequence[GroupsCase]:
        return [GroupsCase("copy"), GroupsCase("group")]

    def run(self, server: Server, case: GroupsCase, options: Options) -> RunResult:
        cluster = self.cluster(server)
        count = options.count(FULL[case.kind])
        if case.kind == "copy":
            return _copy(cluster, max(50, count), options)
        return _group(cluster, count)


def _copy(cluster: ThreeNodeCluster, transactions: int, options: Options) -> RunResult:
    with (
        topic(cluster.bootstrap, PARTITIONS, 3, min_insync_replicas="2") as source,
        topic(cluster.bootstrap, PARTITIONS, 3, min_insync_replicas="2") as target,
    ):
        client = producer(cluster.bootstrap, sticky_partitioning_linger_ms=0)
        blast(client, source, payloads(100), transactions * RECORDS_A_TRANSACTION)
        words = [source, target, new_group(), str(transactions), str(RECORDS_A_TRANSACTION)]
        program = ROOT / "tests" / "java" / "CopyLoop.java"
        command = ["java", "-Xmx256M", "-cp", f"{options.libs}/*", str(program), cluster.bootstrap, *words]
        meter = Meter(cluster)
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S)
        result = meter.stop()
        if done.returncode:
            raise ToolFailed(f"CopyLoop: {(done.stderr or done.stdout).strip()[-500:]}")
        figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        cpu_ms = float(result["server_cpu_s"]) * 1e3 / transactions
        return result | figures | {"cpu_ms_per_transaction": round(cpu_ms, 2)}


def _group(cluster: ThreeNodeCluster, records: int) -> RunResult:
    with topic(cluster.bootstrap, PARTITIONS, 3, min_insync_replicas="2") as name:
        group, stop = new_group(), threading.Event()
        counts = [0] * MEMBERS
        ready = threading.Barrier(MEMBERS + 1)
        threads = [
            threading.Thread(target=_read, args=(cluster.bootstrap, name, group, counts, number, ready, stop))
            for number in range(MEMBERS)
        ]
        for thread in threads:
            thread.start()
        try:
            ready.wait(60)  # every member has its partitions
            client = producer(cluster.bootstrap)
            client.list_topics(name, timeout=10)
            meter = Meter(cluster)
            end = time.monotonic() + WAIT_S
            blast(client, name, payloads(100), records)
            while sum(counts) < records and time.monotonic() < end:
                time.sleep(0.005)
            result = meter.stop(records=records, record_bytes=100)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        if sum(counts) != records:
            raise TimeoutError(f"{sum(counts)} of {records} records were read")
        return result


def _read(
    bootstrap: str,
    name: str,
    group: str,
    counts: list[int],
    number: int,
    ready: threading.Barrier,
    stop: threading.Event,
) -> None:
    client = consumer(bootstrap, group_id=group)
    client.subscribe([name])
    end = time.monotonic() + 60
    while len(client.assignment()) != PARTITIONS // MEMBERS and time.monotonic() < end:
        client.poll(0.05)
    ready.wait(60)
    while not stop.is_set():
        counts[number] += sum(message.error() is None for message in client.consume(10_000, 0.05))
    client.close()
