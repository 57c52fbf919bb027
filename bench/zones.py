"""What distance between zones costs, and what a zone that comes back costs clients: `python -m bench.zones`.

Three nodes in three zones as processes on this machine, links between them that delay bytes (tests/support/links.py),
leaders in zone a, producers beside them. For round trips of 0, 1, 10 and 50 ms between zones: one write at a time, a
steady rate, and as much as goes, all with acks=all and `min.insync.zones=2`. Then one zone is down while data is
written, and a steady producer is measured before and while it is filled again. With --record the figures go into
docs/figures, and `make docs` puts them into the page.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from tests.support.cluster import BarnabasCluster
from tests.support.figures import FIGURES
from tests.support.members import QUIET

from .environment import today
from .stats import percentile

ROUND_TRIPS_MS = (0, 1, 10, 50)
_ONE_AT_A_TIME, _RATE, _STEADY_SECONDS = 60, 300, 5.0
_BULK_SECONDS, _BULK_BYTES, _BULK_PARTITIONS = 5.0, 1_000, 6
_SETTINGS = {"leader.preferred.racks": "a", "min.insync.replicas": "2", "min.insync.zones": "2"}


@contextmanager
def cluster_of_zones(linked: bool) -> Iterator[BarnabasCluster]:
    folder = Path(tempfile.mkdtemp(prefix="barnabas-zones-"))
    cluster = BarnabasCluster(folder, 3, _SETTINGS, linked, zones={1: "a", 2: "b", 3: "c"})
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def producer_of(cluster: BarnabasCluster, **settings: Any) -> Producer:  # of librdkafka, which takes many types
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer({**QUIET, "bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 0, **given})


def one_at_a_time(cluster: BarnabasCluster, topic: str) -> list[float]:
    """Milliseconds from a write to its acknowledgement, the next one only then."""
    producer, taken = producer_of(cluster), []
    for number in range(_ONE_AT_A_TIME + 10):
        began = time.perf_counter()
        producer.produce(topic, b"x" * 100, partition=0)
        assert producer.flush(30) == 0
        if number >= 10:  # the first ones find the leader
            taken.append((time.perf_counter() - began) * 1000)
    return sorted(taken)


def _acknowledged(taken: list[float], began: float, error: object, _: object) -> None:
    assert error is None, error
    taken.append((time.perf_counter() - began) * 1000)


def steady(cluster: BarnabasCluster, topic: str, seconds: float, rate: int = _RATE) -> list[float]:
    """The same at a rate, however many are on their way."""
    producer = producer_of(cluster)
    taken: list[float] = []
    producer.produce(topic, b"first", partition=0)
    assert producer.flush(30) == 0
    begun = time.perf_counter()
    sent = 0
    while (now := time.perf_counter() - begun) < seconds:
        while sent < now * rate:
            began = time.perf_counter()
            producer.produce(topic, b"x" * 100, partition=0, on_delivery=partial(_acknowledged, taken, began))
            sent += 1
        producer.poll(0.001)
    assert producer.flush(60) == 0 and len(taken) == sent
    return sorted(taken)


def bulk(cluster: BarnabasCluster, topic: str, seconds: float, rate_bytes: float = 0.0) -> float:
    """Megabytes a second that were acknowledged, as much as goes or at a rate."""
    producer = producer_of(cluster, linger_ms=5, batch_size=500_000, queue_buffering_max_kbytes=65_536)
    value, sent = os.urandom(_BULK_BYTES), 0
    begun = time.perf_counter()
    while (now := time.perf_counter() - begun) < seconds:
        if rate_bytes and sent * _BULK_BYTES > now * rate_bytes:
            producer.poll(0.005)
            continue
        try:
            producer.produce(topic, value, partition=sent % _BULK_PARTITIONS)
            sent += 1
        except BufferError:
            producer.poll(0.01)
        if sent % 100 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    return sent * _BULK_BYTES / 1e6 / (time.perf_counter() - begun)


def distances(cluster: BarnabasCluster) -> dict[str, float]:
    assert cluster.links is not None
    found: dict[str, float] = {}
    for round_trip_ms in ROUND_TRIPS_MS:
        cluster.links.delay([[1], [2], [3]], round_trip_ms / 2000)
        single = cluster.create(f"single-{round_trip_ms}", 1)
        many = cluster.create(f"many-{round_trip_ms}", _BULK_PARTITIONS)
        time.sleep(1.0)
        alone, flow = one_at_a_time(cluster, single), steady(cluster, single, _STEADY_SECONDS)
        key = f"rtt{round_trip_ms}"
        found |= {
            f"{key}_alone_p50_ms": percentile(alone, 0.5),
            f"{key}_alone_p99_ms": percentile(alone, 0.99),
            f"{key}_steady_p50_ms": percentile(flow, 0.5),
            f"{key}_steady_p99_ms": percentile(flow, 0.99),
            f"{key}_mb_s": bulk(cluster, many, _BULK_SECONDS),
        }
        told = {
            name.removeprefix(f"{key}_"): round(value, 1) for name, value in found.items() if name.startswith(f"{key}_")
        }
        print(f"round trip {round_trip_ms} ms: {told}", flush=True)
    return found


def refill(cluster: BarnabasCluster, megabytes: int) -> dict[str, float]:
    """A producer with a steady rate, before a zone is lost and while it is filled again, from the moment that its node
    serves: its start would be on another machine. Without links: those take time of the process that measures."""
    single, data = cluster.create("steady", 1), cluster.create("data", _BULK_PARTITIONS)
    bulk(cluster, data, 2.0, 5e6)
    before = sorted(taken for _ in range(10) for taken in steady(cluster, single, 1.0))
    cluster.kill(3)
    cluster.until(lambda: 3 not in cluster.partition(data)["isr_nodes"], "zone c is out", 30)
    bulk(cluster, data, megabytes / 40, 40e6)
    size = sum(
        file.stat().st_size
        for index in range(_BULK_PARTITIONS)
        for file in cluster.folder_of(1, data, index).glob("*.log")
    )
    cluster.nodes[3].start()
    begun, during = time.monotonic(), []
    while time.monotonic() < begun + 300:
        during += steady(cluster, single, 1.0)
        if all(len(cluster.partition(data, index)["isr_nodes"]) == 3 for index in range(_BULK_PARTITIONS)):
            break
    seconds = time.monotonic() - begun
    during.sort()
    found = {
        "refill_mb": size / 1e6,
        "refill_seconds": seconds,
        "before_p50_ms": percentile(before, 0.5),
        "before_p99_ms": percentile(before, 0.99),
        "during_p50_ms": percentile(during, 0.5),
        "during_p99_ms": percentile(during, 0.99),
    }
    print(f"refill: { {name: round(value, 1) for name, value in found.items()} }", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=400, help="written while the zone is down")
    parser.add_argument("--only", choices=("distances", "refill"))
    parser.add_argument("--record", action="store_true", help="into docs/figures")
    told = parser.parse_args()
    load = os.getloadavg()[0]
    found: dict[str, float] = {}
    if told.only != "refill":
        with cluster_of_zones(linked=True) as cluster:
            found |= distances(cluster)
    if told.only != "distances":
        with cluster_of_zones(linked=False) as cluster:
            found |= refill(cluster, told.megabytes)
    if told.record:
        path = FIGURES / "zones-distance.json"
        kept = json.loads(path.read_text()) if path.exists() else {}
        values = {"when": today(), "cores": os.cpu_count(), "load": round(load)} | found
        path.write_text(json.dumps(kept | values, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
