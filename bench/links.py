"""A link between clusters: `python -m bench.links [fill] [kafka] [disk] [lag] [idle]`

| part     | what is measured                                                                                    |
|----------|-----------------------------------------------------------------------------------------------------|
| fill     | a topic is filled by a link from Barnabas: MB/s, CPU. Beside a follower: bench/mirror.py             |
| kafka    | the same link with Apache Kafka as the source                                                       |
| disk     | as many bytes written to a file: what the disk allows a link whose bytes do not stay in memory       |
| lag      | how long after it was sent to the source a record can be read at the target                         |
| idle     | what a link of 10,000 partitions costs both ends while nothing is written                           |

What is filled is there before: the link begins with an empty log and fetches as fast as it can.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.members import QUIET
from tests.support.process import ServerProcess
from tests.support.servers import BarnabasNode, KafkaNode

from . import memory
from .connect_figures import cpu_s, keep, load

TOPIC = "moved"
PARTITIONS = 6
_LOOK_S = 0.02
_PATIENCE_S = 1800.0


def _create(bootstrap: str, topic: str, partitions: int, replicas: int = 1) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(60)


def _fill(bootstrap: str, megabytes: int, record_bytes: int) -> int:
    """Records without compression; gives how many."""
    settings = {
        "bootstrap.servers": bootstrap,
        "linger.ms": 20,
        "batch.size": 900_000,
        "queue.buffering.max.kbytes": 262_144,
    }
    producer = Producer({**QUIET, **settings, "queue.buffering.max.messages": 1_000_000})
    value, count = os.urandom(record_bytes), megabytes * 1_000_000 // record_bytes
    for number in range(count):
        while True:
            try:
                producer.produce(TOPIC, value, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
    assert producer.flush(600) == 0
    return count


def _ends(consumer: Consumer, topic: str, partitions: int) -> int:
    total = 0
    for index in range(partitions):
        found = consumer.get_watermark_offsets(TopicPartition(topic, index), 10, cached=False)
        total += found[1] if found is not None else 0
    return total


def _until(condition: Callable[[], bool], what: str) -> float:
    deadline = time.perf_counter() + _PATIENCE_S
    while not condition():
        assert time.perf_counter() < deadline, f"not in {_PATIENCE_S:.0f} s: {what}"
        time.sleep(_LOOK_S)
    return time.perf_counter()


def _link(target: str, source: str) -> None:
    from tests.linked_clusters.pair import link

    link(target, source, "--topics", f"{TOPIC}|idle", "--no-groups")


@contextmanager
def _consumer(bootstrap: str) -> Iterator[Consumer]:
    made = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "bench"})
    try:
        yield made
    finally:
        made.close()


class Filled:
    def __init__(self, megabytes: int, seconds: float, cpu: float, source_cpu: float) -> None:
        self.mb_s, self.cpu_s_per_gb = megabytes / seconds, cpu / megabytes * 1000
        self.source_cpu_s_per_gb = source_cpu / megabytes * 1000

    def told(self) -> str:
        return (
            f"{self.mb_s:6.0f} MB/s, {self.cpu_s_per_gb:.2f} s of CPU a GB (who is filled),"
            f" {self.source_cpu_s_per_gb:.2f} (source)"
        )


def by_link(source: ServerProcess, target: ServerProcess, megabytes: int, record_bytes: int) -> Filled:
    _create(source.bootstrap, TOPIC, PARTITIONS)
    count = _fill(source.bootstrap, megabytes, record_bytes)
    memory.use_once(megabytes * 1_000_000)
    with _consumer(target.bootstrap) as consumer:
        before, began = cpu_s(target.pid, source.pid), time.perf_counter()
        _link(target.bootstrap, source.bootstrap)
        first = _until(lambda: _is_there(consumer) and _ends(consumer, TOPIC, PARTITIONS) > 0, "the first records")
        ended = _until(lambda: _ends(consumer, TOPIC, PARTITIONS) >= count, "all records by the link")
    used = [end - start for start, end in zip(before, cpu_s(target.pid, source.pid), strict=True)]
    print(f"         first records {first - began:.2f} s after `link create` was typed", flush=True)
    return Filled(megabytes, ended - first, used[0], used[1])


def _is_there(consumer: Consumer) -> bool:
    return TOPIC in consumer.list_topics(timeout=10).topics


def disk_mb_s(folder: Path, megabytes: int) -> float:
    """As a link leaves them: in the page cache and on their way to the disk, without a flush at the end."""
    memory.use_once(megabytes * 1_000_000)
    piece, began = os.urandom(1_000_000), time.perf_counter()
    with (folder / "plain").open("wb", buffering=0) as file:
        for _ in range(megabytes):
            file.write(piece)
    taken = time.perf_counter() - began
    (folder / "plain").unlink()
    return megabytes / taken


def lags_ms(source: ServerProcess, target: ServerProcess, seconds: float) -> list[float]:
    """A hundred records a second, each with the time at which it was sent."""
    _create(source.bootstrap, TOPIC, 1)
    _link(target.bootstrap, source.bootstrap)
    found: list[float] = []
    ended = threading.Event()

    def read() -> None:
        settings = {"bootstrap.servers": target.bootstrap, "group.id": "lag", "auto.offset.reset": "earliest"}
        consumer = Consumer({**QUIET, **settings, "fetch.wait.max.ms": 100})
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        while not ended.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                found.append((time.perf_counter() - float(message.value() or b"0")) * 1000)
        consumer.close()

    with _consumer(target.bootstrap) as looking:
        _until(lambda: _is_there(looking), "the topic")
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    producer = Producer({**QUIET, "bootstrap.servers": source.bootstrap, "linger.ms": 0, "acks": "all"})
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        producer.produce(TOPIC, f"{time.perf_counter()}".encode())
        producer.poll(0)
        time.sleep(0.01)
    assert producer.flush(30) == 0
    time.sleep(1)
    ended.set()
    reader.join(10)
    return found[len(found) // 10 :]  # the first ones find connections being opened


def idle_shares(source: ServerProcess, target: ServerProcess, partitions: int, seconds: float) -> list[list[float]]:
    """Of a core: (target, source) before there is a link, with it, and while it is paused: the target has the topics
    then, and what it costs to have them, but nothing of the link."""
    at_once = 50
    for number in range(partitions // at_once):
        _create(source.bootstrap, f"idle{number}", at_once)
    time.sleep(seconds / 2)
    before = _shares(target, source, seconds)
    _link_all(target, source)
    with _consumer(target.bootstrap) as consumer:
        _until(lambda: len(consumer.list_topics(timeout=30).topics) >= partitions // at_once, "the topics")
    time.sleep(90)  # until every partition is filled, and every topic was compared twice
    linked = _shares(target, source, seconds)
    _pause(target)
    time.sleep(10)
    return [before, linked, _shares(target, source, seconds)]


def _pause(target: ServerProcess) -> None:
    from tests.linked_clusters.pair import barnabas

    barnabas("link", "pause", "east", "-b", target.bootstrap)


def _link_all(target: ServerProcess, source: ServerProcess) -> None:
    from tests.linked_clusters.pair import link

    link(target.bootstrap, source.bootstrap, "--topics", "idle.*")


def _shares(target: ServerProcess, source: ServerProcess, seconds: float) -> list[float]:
    before = cpu_s(target.pid, source.pid)
    time.sleep(seconds)
    return [(end - start) / seconds for start, end in zip(before, cpu_s(target.pid, source.pid), strict=True)]


@contextmanager
def _nodes(folder: Path, source: Callable[[Path], ServerProcess]) -> Iterator[tuple[ServerProcess, ServerProcess]]:
    with source(folder / "source") as first, BarnabasNode(folder / "target") as second:
        yield first, second


def _filling(parts: list[str], told: argparse.Namespace, folder: Path) -> dict[str, float | str]:
    values: dict[str, float | str] = {}
    sources: dict[str, Callable[[Path], ServerProcess]] = {"fill": BarnabasNode, "kafka": KafkaNode}
    for size in told.size or (1024, 100):
        for name in [each for each in sources if each in parts]:
            with _nodes(folder / f"{name}{size}", sources[name]) as (source, target):
                found = by_link(source, target, told.megabytes, size)
            print(f"{name:8} {size:5} B {found.told()}", flush=True)
            values |= {f"{name}_{size}_mb_s": round(found.mb_s), f"{name}_{size}_cpu": round(found.cpu_s_per_gb, 2)}
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["fill", "kafka", "disk", "lag", "idle"])
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument(
        "--size", type=int, action="append", help="bytes of a record; may be repeated; else 1024 and 100"
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--figures", action="store_true", help="keep what was measured in docs/figures")
    told = parser.parse_args()
    before = load()
    print(f"load {before:.1f} on {os.cpu_count()} cores before", flush=True)
    with tempfile.TemporaryDirectory(prefix="barnabas-links-") as named:
        folder = Path(named)
        values = _filling(told.parts, told, folder)
        if "disk" in told.parts:
            values["disk_mb_s"] = round(disk_mb_s(folder, told.megabytes))
            print(f"disk     {values['disk_mb_s']:6} MB/s", flush=True)
        if "lag" in told.parts:
            with _nodes(folder / "lag", BarnabasNode) as (source, target):
                found = lags_ms(source, target, told.seconds)
            p50, p99 = statistics.median(found), statistics.quantiles(found, n=100)[98]
            print(f"lag      p50 {p50:.1f} ms, p99 {p99:.1f} ms of {len(found)}", flush=True)
            values |= {"lag_p50_ms": round(p50, 1), "lag_p99_ms": round(p99, 1)}
        if "idle" in told.parts:
            with _nodes(folder / "idle", BarnabasNode) as (source, target):
                alone, linked, paused = idle_shares(source, target, told.partitions, told.seconds)
            for name, before_it, with_it, without in zip(("target", "source"), alone, linked, paused, strict=True):
                told_of = f"{before_it:.2%} of a core before the link, {with_it:.2%} with it, {without:.2%} paused"
                print(f"idle     {name} {told_of}; {told.partitions:,} partitions", flush=True)
                values[f"idle_{name}_percent"] = round(with_it * 100, 2)
                values[f"idle_{name}_paused_percent"] = round(without * 100, 2)
            values["idle_partitions"] = told.partitions
    if told.figures:
        keep("link", before, megabytes=told.megabytes, **values)
    print(f"load {load():.1f} after")


if __name__ == "__main__":
    main()
