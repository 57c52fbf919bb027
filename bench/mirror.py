"""One cluster into another: a link, our mirror, MirrorMaker 2, and a follower beside them. `python -m bench.mirror`

The source is filled first. Each way then copies all of it to a target that is empty, one after the other, and is timed
from the first records (`--warm-up`, for the virtual machine of MirrorMaker) to the last. CPU is that of the process
that copies and of both nodes; a link has no process of its own, so what counts is the target's node, less what a
follower of the same cluster needs for the same records. MirrorMaker and our mirror are exactly once.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.linked_clusters.pair import barnabas
from tests.mirror.sides import MirrorProcess
from tests.support.cluster import BarnabasCluster
from tests.support.connect import all_records
from tests.support.kafka_connect import AS_SHIPPED
from tests.support.members import QUIET
from tests.support.mirrormaker import MirrorMaker
from tests.support.process import ServerProcess
from tests.support.servers import BarnabasNode, KafkaNode

from . import memory
from .connect_figures import cpu_s, keep, load, peak_mb

WAYS = ("follower", "link", "mirror", "mirrormaker")
SLOWER = 10  # MirrorMaker gets so many times fewer records: the others need a second for what takes it a minute
_LOOK_S = 0.05
_PATIENCE_S = 180.0  # without a new record


@dataclass(frozen=True)
class Scale:
    records: int
    size: int
    warm_up: int
    partitions: int
    compression: str

    @property
    def all(self) -> int:
        return self.records + self.warm_up


@dataclass(frozen=True)
class Figures:
    records: int
    seconds: float
    copier_s: float  # CPU of the process that copies; of a link and a follower that of the node
    target_s: float
    source_s: float
    peak_mb: float

    @property
    def per_second(self) -> float:
        return self.records / self.seconds

    @property
    def copier_per_million(self) -> float:
        return self.copier_s / self.records * 1e6


def fill(bootstrap: str, topic: str, scale: Scale) -> None:
    """Bytes that a codec can do something with, as those of people: half of each value is random."""
    chance = random.Random(7)
    half = max(1, scale.size // 2)
    values = [chance.randbytes(half // 2).hex().encode().ljust(scale.size, b"x")[: scale.size] for _ in range(1000)]
    producer = Producer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "linger.ms": 20,
            "compression.type": scale.compression,
            "queue.buffering.max.messages": 500_000,
            "batch.size": 256 * 1024,
        }
    )
    for number in range(scale.all):
        while True:
            try:
                producer.produce(topic, values[number % len(values)], partition=number % scale.partitions)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(300) == 0


def create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(20)


class Ends:
    """How many offsets a topic has at the target: those of markers count too, and are few."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        self._consumer = Consumer(
            {**QUIET, "bootstrap.servers": bootstrap, "group.id": "bench", "isolation.level": "read_committed"}
        )
        self._places = [TopicPartition(topic, each) for each in range(partitions)]

    def sum(self) -> int:
        topic = self._places[0].topic
        if topic not in self._consumer.list_topics(timeout=10).topics:
            return 0
        found = [self._consumer.get_watermark_offsets(each, 10, cached=False) for each in self._places]
        return sum(each[1] for each in found if each is not None)

    def close(self) -> None:
        self._consumer.close()


def await_offsets(ends: Ends, offsets: int, pids: list[int]) -> tuple[float, list[float]]:
    """When so many were there, and the CPU seconds used by then."""
    last, at = -1, time.perf_counter()
    while True:
        found = ends.sum()
        if found >= offsets:
            return time.perf_counter(), cpu_s(*pids)
        if found > last:
            last, at = found, time.perf_counter()
        assert time.perf_counter() - at < _PATIENCE_S, f"no record for {_PATIENCE_S:.0f} s: {found} of {offsets}"
        time.sleep(_LOOK_S)


@contextmanager
def _ended(server: ServerProcess) -> Iterator[ServerProcess]:
    try:
        yield server
    finally:
        server.stop()


def measure_copier(
    way: str, make: Callable[[], ServerProcess], source: ServerProcess, target: ServerProcess, scale: Scale
) -> Figures:
    topic = "east.load"
    ends = Ends(target.bootstrap, topic, scale.partitions)
    with _ended(make()) as copier:
        copier.start()
        pids = [copier.pid, target.pid, source.pid]
        at_first, before = await_offsets(ends, max(1, scale.warm_up), pids)
        at_last, after = await_offsets(ends, scale.all, pids)
        used = [b - a for a, b in zip(before, after, strict=True)]
        found = Figures(scale.records, at_last - at_first, used[0], used[1], used[2], peak_mb(copier.pid))
        deadline = time.monotonic() + 60
        while (count := len(all_records(target.bootstrap, topic))) < scale.all and time.monotonic() < deadline:
            time.sleep(0.5)
    ends.close()
    assert count == scale.all, f"{way}: {count} records of {scale.all}"
    return found


def measure_link(source: ServerProcess, target: ServerProcess, scale: Scale) -> Figures:
    ends = Ends(target.bootstrap, "load", scale.partitions)
    pids = [target.pid, source.pid]
    barnabas("link", "create", "bench", "--from", source.bootstrap, "--topics", "load", "-b", target.bootstrap)
    at_first, before = await_offsets(ends, max(1, scale.warm_up), pids)
    at_last, after = await_offsets(ends, scale.all, pids)
    ends.close()
    used = [b - a for a, b in zip(before, after, strict=True)]
    return Figures(scale.records, at_last - at_first, used[0], used[0], used[1], peak_mb(target.pid))


def measure_follower(folder: Path, scale: Scale) -> Figures:
    """A replica that was away while all of it was written, less a start with nothing to fetch."""
    cluster = BarnabasCluster(folder, 3)
    try:
        cluster.start()
        cluster.create("load", scale.partitions, 3)
        away = next(number for number in cluster.nodes if number != cluster.controller())
        cluster.stop_one(away)
        empty_s, empty_cpu_s = _back(cluster, away, scale)
        cluster.stop_one(away)
        fill(",".join(cluster.nodes[each].bootstrap for each in cluster.up), "load", scale)
        memory.use_once(scale.all * scale.size)
        seconds, used = (b - a for a, b in zip((empty_s, empty_cpu_s), _back(cluster, away, scale), strict=True))
        node = cluster.nodes[away]
        return Figures(scale.all, max(0.01, seconds), max(0.0, used), max(0.0, used), 0.0, peak_mb(node.pid))
    finally:
        cluster.stop()


def _back(cluster: BarnabasCluster, number: int, scale: Scale) -> tuple[float, float]:
    """Seconds until the node is in sync again, its start included, and the CPU it has used."""
    began = time.perf_counter()
    cluster.start(number)
    cluster.await_isr("load", 3, scale.partitions, 300)
    return time.perf_counter() - began, cpu_s(cluster.nodes[number].pid)[0]


def measure(way: str, folder: Path, scale: Scale, kafka_source: bool, heap: str) -> Figures:
    if way == "follower":
        return measure_follower(folder, scale)
    source: ServerProcess = KafkaNode(folder / "source") if kafka_source else BarnabasNode(folder / "source")
    target = BarnabasNode(folder / "target")
    with source, target:
        create(source.bootstrap, "load", scale.partitions)
        fill(source.bootstrap, "load", scale)
        memory.use_once(scale.all * scale.size)
        if way == "link":
            return measure_link(source, target, scale)
        named = {"east": source.bootstrap, "west": target.bootstrap}
        if way == "mirror":
            words = [f"{name}={address}" for name, address in named.items()]
            return measure_copier(
                way, lambda: MirrorProcess(folder / "mirror.log", *words, "--topics", "load"), source, target, scale
            )
        java = [f"-Xmx{heap}" if each.startswith("-Xmx") else each for each in AS_SHIPPED]
        settings = {"topics": "load", "tasks.max": str(scale.partitions), "west->east.enabled": "false"}
        return measure_copier(way, lambda: MirrorMaker(folder / "mm2", named, settings, java), source, target, scale)


def told(way: str, scale: Scale, found: Figures) -> str:
    per = 1e6 / found.records
    return (
        f"{way:12} {scale.size:6} {found.per_second:12,.0f} {found.copier_per_million:12.2f}"
        f" {found.target_s * per:12.2f} {found.source_s * per:12.2f} {found.peak_mb:9.0f}"
    )


def _values(figures: dict[tuple[str, int], Figures]) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    for (way, size), each in figures.items():
        values[f"{way}_{size}_records_s"] = round(each.per_second, -2)
        values[f"{way}_{size}_cpu_s"] = round(each.copier_per_million, 2)
    for size in {size for _, size in figures}:
        link, follower = figures.get(("link", size)), figures.get(("follower", size))
        theirs = figures.get(("mirrormaker", size))
        if link is not None and follower is not None:
            extra = max(0.0, link.copier_per_million - follower.copier_per_million)
            values[f"link_over_follower_{size}_cpu_s"] = round(extra, 2)
            values[f"link_to_follower_{size}_speed"] = round(link.per_second / follower.per_second, 2)
        if theirs is not None and link is not None:
            values[f"link_to_mirrormaker_{size}_cpu"] = round(link.copier_per_million / theirs.copier_per_million, 3)
        if theirs is not None and (ours := figures.get(("mirror", size))) is not None:
            values[f"mirror_to_mirrormaker_{size}_cpu"] = round(ours.copier_per_million / theirs.copier_per_million, 3)
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--records", type=int, default=5_000_000, help="of 100 bytes; a fifth of it of 1 KiB, a tenth for MirrorMaker"
    )
    parser.add_argument("--warm-up", type=int, default=200_000)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--compression", default="none")
    parser.add_argument("--only", choices=WAYS, action="append", help="may be repeated; else all")
    parser.add_argument("--kafka-source", action="store_true", help="an Apache Kafka is the source")
    parser.add_argument("--heap", default="2G", help="of MirrorMaker; 2G is what its start script gives")
    parser.add_argument("--figures", action="store_true", help="keep them in docs/figures")
    told_to = parser.parse_args()
    before = load()
    print(f"load {before:.1f} on {os.cpu_count()} cores before", flush=True)
    print("CPU seconds are per million records: of what copies, of the target's node, of the source's")
    print("way            size    records/s       copier       target       source   peak MB", flush=True)
    figures: dict[tuple[str, int], Figures] = {}
    for size, share in ((100, 1), (1024, 5)):
        for way in told_to.only or WAYS:
            records = told_to.records // (share * (SLOWER if way == "mirrormaker" else 1))
            scale = Scale(records, size, told_to.warm_up // share, told_to.partitions, told_to.compression)
            with tempfile.TemporaryDirectory(prefix="barnabas-mirror-") as named:
                found = measure(way, Path(named), scale, told_to.kafka_source, told_to.heap)
            figures[way, size] = found
            print(told(way, scale, found), flush=True)
    values = _values(figures)
    for name in sorted(values):
        if "_over_" in name or "_to_" in name:
            print(f"{name} {values[name]}")
    print(f"load {load():.1f} after", flush=True)
    if told_to.figures:
        keep("mirror", before, records=told_to.records, compression=told_to.compression, **values)


if __name__ == "__main__":
    main()
