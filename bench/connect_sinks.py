"""Sinks end to end: records of a topic -> OpenSearch, S3. `python -m bench.connect_sinks`

One node, one worker and the target on this machine. The records are there before the worker starts. What is measured
begins when the first of them are written and the group says so, and ends when the group has no lag. CPU is that of the
worker, with its consumer, decoding, writer and commits; the target has its own.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.connect import ConnectWorker, written
from tests.support.members import QUIET
from tests.support.opensearch import OpenSearchProcess
from tests.support.process import ServerProcess
from tests.support.s3 import S3Process
from tests.support.servers import BarnabasNode

from .connect_figures import cpu_s, keep, load, peak_mb

_LOOK_S = 0.05
_TOPIC = "orders"


@dataclass(frozen=True)
class Figures:
    records: int
    seconds: float
    cpu_s: float
    target_cpu_s: float
    node_cpu_s: float
    peak_mb: float

    @property
    def us(self) -> float:
        return self.cpu_s / self.records * 1e6

    def told(self) -> str:
        return (
            f"{self.records / self.seconds:9,.0f} records/s, {self.us:6.2f} us CPU a record (worker),"
            f" so {1e6 / self.us:,.0f} on one core; {self.target_cpu_s / self.records * 1e6:6.1f} us (target),"
            f" {self.node_cpu_s / self.records * 1e6:5.2f} us (node), {self.peak_mb:4.0f} MB"
        )


def produce(bootstrap: str, count: int) -> None:
    """Orders of about 200 bytes of JSON."""
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(_TOPIC, 1, 1)])[_TOPIC].result(20)
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "compression.type": "lz4", "linger.ms": 20})
    for number in range(count):
        order = {
            "id": number,
            "customer": f"customer {number % 5000}",
            "country": ("de", "fr", "it", "es")[number % 4],
            "total": number % 10_000 / 100,
            "at": f"2026-11-18T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            "paid": number % 3 == 0,
            "note": f"a note about order {number}, as long as such notes are, and no longer",
        }
        while True:
            try:
                producer.produce(_TOPIC, json.dumps(order).encode(), str(number).encode())
                break
            except BufferError:
                producer.poll(0.1)
    assert not producer.flush(60)


class _Lag:
    def __init__(self, bootstrap: str, group: str) -> None:
        self._consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": group})

    def until(self, offset: int) -> float:
        """When the group's offset was there."""
        deadline = time.perf_counter() + 600
        while True:
            [found] = self._consumer.committed([TopicPartition(_TOPIC, 0)], timeout=10)
            if found.offset >= offset:
                return time.perf_counter()
            assert time.perf_counter() < deadline, f"the group is at {found.offset} after ten minutes"
            time.sleep(_LOOK_S)


def measure(
    folder: Path, node: ServerProcess, name: str, to: str, target: ServerProcess, count: int, after: int
) -> Figures:
    definition = written(folder / f"{name}.yaml", f"name: {name}\nfrom: {{topics: [{_TOPIC}]}}\nto: {to}\n")
    worker = ConnectWorker(node.bootstrap, folder / f"{name}.log", definition)
    lag = _Lag(node.bootstrap, f"connect-{name}")
    pids: Callable[[], list[float]] = lambda: cpu_s(worker.pid, target.pid, node.pid)  # noqa: E731
    try:
        worker.start()
        began = lag.until(after)
        before = pids()
        ended = lag.until(count)
        used = [late - early for early, late in zip(before, pids(), strict=True)]
        return Figures(count - after, ended - began, used[0], used[1], used[2], peak_mb(worker.pid))
    finally:
        worker.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--opensearch-records", type=int, default=60_000, help="it takes some thousand a second")
    parser.add_argument("--figures", action="store_true", help="keep them in docs/figures")
    told = parser.parse_args()
    before = load()
    print(f"load {before:.1f} on {os.cpu_count()} cores before", flush=True)
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="barnabas-sinks-") as named, BarnabasNode(Path(named) / "node") as node:
        folder = Path(named)
        produce(node.bootstrap, told.records)
        s3 = S3Process(folder / "s3")
        try:
            s3.start()
            for kind in ("parquet", "jsonl"):
                options = s3.bucket(kind).options | {"format": kind, "object_records": told.records // 10}
                to = json.dumps({"s3": options})
                after = told.records // 5  # two objects: the first has brought the imports
                found[kind] = measure(folder, node, f"s3-{kind}", to, s3, told.records, after)
                print(f"s3, {kind:8} {found[kind].told()}", flush=True)
        finally:
            s3.kill()
        search = OpenSearchProcess(folder / "opensearch")
        try:
            search.start()
            to = json.dumps({"opensearch": {"url": search.url, "index": "orders", "batch_bytes": 1_900_000}})
            found["opensearch"] = measure(
                folder, node, "search", to, search, told.opensearch_records, told.opensearch_records // 5
            )
            print(f"opensearch   {found['opensearch'].told()}", flush=True)
        finally:
            search.kill()
    if told.figures:
        values = {
            f"{name}_{what}": number
            for name, each in found.items()
            for what, number in (
                ("us", round(each.us, 2)),
                ("core_records_s", round(1e6 / each.us, -3)),
                ("records_s", round(each.records / each.seconds, -2)),
                ("target_us", round(each.target_cpu_s / each.records * 1e6, 1)),
                ("peak_mb", round(each.peak_mb)),
            )
        }
        keep("connect-sinks", before, **values)
    print(f"load {load():.1f} after")


if __name__ == "__main__":
    main()
