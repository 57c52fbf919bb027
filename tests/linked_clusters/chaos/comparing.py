"""Are both ends equal? By the files of every replica, batch by batch; by Kafka's own kafka-dump-log of both leaders; by
`barnabas link verify`; and by the books of the load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from barnabas.wire.batch import iter_batches
from tests.cluster.whole import check_logs
from tests.crash.load import check_books, read_all
from tests.linked_clusters.chaos.clusters import LINK, World
from tests.linked_clusters.chaos.load import ORDERS, PAYMENTS, Load
from tests.linked_clusters.pair import equal, read, status
from tests.support.cluster import BarnabasCluster
from tests.support.java import DUMP_LOG, JavaTools
from tests.support.members import until
from tests.support.wire import LIST_OFFSETS

_EARLIEST, _LATEST = -2, -1
_POSITION = re.compile(r" position: \d+")
_LAST_OFFSET = re.compile(r" lastOffset: (\d+)")
_SECONDS = 240


@dataclass
class Compared:
    topics: int = 0
    partitions: int = 0
    replicas: int = 0
    batches: int = 0
    size: int = 0
    dumped: int = 0
    groups: int = 0
    acknowledged: int = 0
    committed: int = 0
    aborted: int = 0


def caught_up(world: World, behind: int = 0, seconds: float = _SECONDS) -> None:
    """The link says that it is, and nothing is wrong."""

    def there() -> bool:
        found = status(world.target.bootstrap, LINK)
        wrong = [each["error"] for each in found["partitions"] if each["error"]]
        known = all(each["source_end_offset"] >= 0 for each in found["partitions"])
        return bool(found["lag_records"] <= behind and known and not found["errors"] and not wrong)

    try:
        until(there, "the link has caught up", seconds)
    except AssertionError as late:
        found = status(world.target.bootstrap, LINK)
        wrong = [each for each in found["partitions"] if each["error"] or each["seconds_behind"]]
        raise AssertionError(f"{late}; errors {found['errors']}; {wrong[:5]}") from None


def compare(world: World, load: Load, java: JavaTools) -> Compared:
    """Nobody writes any more."""
    done = Compared()
    verified = equal(world.target.bootstrap, LINK)
    done.topics, done.groups = verified["topics"], verified["groups"]
    assert done.groups >= 2, verified
    for topic, index in _places(world.source):
        done.partitions += 1
        _compare_partition(done, world, java, topic, index)
    assert done.partitions == verified["partitions"], (done, verified)
    _check_books(done, world, load)
    check_logs(world.source)
    check_logs(world.target)
    return done


def _places(cluster: BarnabasCluster) -> list[tuple[str, int]]:
    topics = cluster.metadata(cluster.up[0])["topics"]
    return [(t["name"], p["partition_index"]) for t in topics if not t["is_internal"] for p in t["partitions"]]


def _offset(cluster: BarnabasCluster, topic: str, index: int, timestamp: int) -> int:
    partition = {"partition_index": index, "current_leader_epoch": -1, "timestamp": timestamp}
    body: dict[str, Any] = {
        "replica_id": -1,
        "isolation_level": 0,
        "topics": [{"name": topic, "partitions": [partition]}],
    }
    answer = cluster.ask(cluster.leader(topic, index), LIST_OFFSETS, 5, body)
    return int(answer["topics"][0]["partitions"][0]["offset"])


def _compare_partition(done: Compared, world: World, java: JavaTools, topic: str, index: int) -> None:
    both = (world.source, world.target)
    start = max(_offset(cluster, topic, index, _EARLIEST) for cluster in both)
    end = {_offset(cluster, topic, index, _LATEST) for cluster in both}
    assert len(end) == 1, f"{topic}-{index} ends at {end}"
    found: dict[str, tuple[int, int, bytes]] = {}

    def same() -> bool:
        for name, cluster in zip(("source", "target"), both, strict=True):
            for number in cluster.partition(topic, index)["replica_nodes"]:
                found[f"{name} {number}"] = _content(cluster.folder_of(number, topic, index), start)
        return len(set(found.values())) == 1 and len(found) == 2 * len(world.source.nodes)

    until(same, f"all replicas of {topic}-{index} at both ends are the same", 60)
    done.replicas += len(found)
    batches, size, _ = next(iter(found.values()))
    done.batches += batches
    done.size += size
    leaders = (cluster.folder_of(cluster.leader(topic, index), topic, index) for cluster in both)
    ours, theirs = (_dumped(java, folder, start) for folder in leaders)
    assert ours == theirs, f"kafka-dump-log of {topic}-{index} differs: {_first_difference(ours, theirs)}"
    assert len(ours) == batches
    done.dumped += len(ours)


def _segments(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.log"))


def _content(folder: Path, start: int) -> tuple[int, int, bytes]:
    """Batches from an offset on: how many, their bytes, and the digest of these."""
    digest, batches, size = sha256(), 0, 0
    for segment in _segments(folder):
        data = memoryview(segment.read_bytes())
        for position, header in iter_batches(data):
            if header.last_offset >= start:
                digest.update(data[position : position + header.size])
                batches += 1
                size += header.size
    return batches, size, digest.digest()


def _dumped(java: JavaTools, folder: Path, start: int) -> list[str]:
    """A line for each batch, with its CRC; without where it lies in its file: both sides end their files elsewhere."""
    return [
        _POSITION.sub("", line)
        for segment in _segments(folder)
        if segment.stat().st_size
        for line in _batch_lines(java.run(DUMP_LOG, "--files", str(segment), timeout_seconds=300).out)
        if int(_LAST_OFFSET.search(line)[1]) >= start  # type: ignore[index]  # every line of a batch has one
    ]


def _batch_lines(out: str) -> Iterator[str]:
    return (line for line in out.splitlines() if line.startswith("baseOffset:"))


def _first_difference(ours: list[str], theirs: list[str]) -> object:
    pairs = ((a, b) for a, b in zip(ours, theirs, strict=False) if a != b)
    return next(pairs, (len(ours), len(theirs)))


def _check_books(done: Compared, world: World, load: Load) -> None:
    target = world.target.bootstrap
    check_books(load.orders, read_all(target, ORDERS, 4), idempotent=True)
    values = {value for found in read(target, PAYMENTS, 3).values() for value in found}
    transactions = load.transactions
    assert transactions.committed <= values, sorted(transactions.committed - values)[:5]
    assert not transactions.aborted & values, sorted(transactions.aborted & values)[:5]
    done.acknowledged = len(load.orders.acked) + len(load.orders.acked_somewhere)
    done.committed, done.aborted = len(transactions.committed), len(transactions.aborted)
