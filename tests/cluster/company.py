"""Everybody who uses a cluster while it suffers: an idempotent producer and a group of each kind, librdkafka's and
Java's. In the end their books are compared with the logs."""

from __future__ import annotations

from pathlib import Path

from tests.cluster.java_load import JavaReader, JavaWriter
from tests.cluster.load import TimedWriter
from tests.crash.load import Reader, check_books, read_all
from tests.support.cluster import BarnabasCluster
from tests.support.members import until

IDEMPOTENT = {
    "enable.idempotence": True,
    "message.timeout.ms": 180_000,
    "socket.timeout.ms": 5_000,
    "linger.ms": 0,
}
TOPIC, JAVA_TOPIC = "orders", "java-orders"


class Company:
    def __init__(
        self,
        cluster: BarnabasCluster,
        folder: Path,
        partitions: int = 3,
        per_second: int = 300,
        java: bool = True,
        replicas: int = 3,
        **config: str,
    ) -> None:
        """Of `replicas` a majority has what is acknowledged."""
        self.cluster, self.partitions = cluster, partitions
        self.topics = [TOPIC, JAVA_TOPIC] if java else [TOPIC]
        for topic in self.topics:
            cluster.create(topic, partitions, replicas, min_insync_replicas=str(replicas // 2 + 1), **config)
        place = cluster.bootstrap
        self.writer = TimedWriter(place, TOPIC, partitions, per_second, **IDEMPOTENT)
        self.reader = Reader(place, TOPIC, "readers")
        self.java_writer = JavaWriter(folder / "java-writer", place, JAVA_TOPIC, per_second) if java else None
        self.java_reader = JavaReader(folder / "java-reader", place, JAVA_TOPIC, "java-readers") if java else None

    @property
    def acknowledged(self) -> int:
        return len(self.writer.acked) + (len(self.java_writer.acked) if self.java_writer else 0)

    def await_more(self, count: int = 200, seconds: float = 60) -> None:
        """Until every partition and both producers got on."""
        sizes = {partition: len(times) for partition, times in self.writer.times.items()}
        until(
            lambda: all(len(self.writer.times[p]) >= size + count // self.partitions for p, size in sizes.items()),
            f"every partition of {TOPIC} takes {count // self.partitions} more records",
            seconds,
        )
        if self.java_writer:
            self.java_writer.await_more(count, seconds)

    def check(self) -> str:
        """Stop writing, let the groups read to the end, and compare."""
        self.writer.finish(120)
        assert not self.writer.failed, self.writer.failed[:3]
        found = {TOPIC: read_all(self.cluster.bootstrap, TOPIC, self.partitions)}
        check_books(self.writer, found[TOPIC], idempotent=True)
        if self.java_writer:
            self.java_writer.finish()
            assert not self.java_writer.failed, self.java_writer.failed[:3]
            found[JAVA_TOPIC] = read_all(self.cluster.bootstrap, JAVA_TOPIC, self.partitions)
            check_books(self.java_writer, found[JAVA_TOPIC], idempotent=True)
        _read_to_the_end(self.reader, found[TOPIC])
        if self.java_reader:
            _read_to_the_end(self.java_reader, found[JAVA_TOPIC])
        return f"{self.acknowledged} acknowledged, 0 lost, 0 twice, 0 out of order"

    def end(self) -> None:
        """Whatever still runs, after a test that failed too."""
        self.writer._stop.set()
        self.reader._stop.set()
        for program in (self.java_writer, self.java_reader):
            if program:
                program.kill()


def _read_to_the_end(reader: Reader | JavaReader, found: dict[int, list[tuple[int, int]]]) -> None:
    """A group got every record, each with the value that stands there, and commits to the end."""
    expected = {(p, offset): value for p, records in found.items() for offset, value in records}
    ends = {p: len(records) for p, records in found.items() if records}

    def done() -> bool:
        return all(reader.committed.get(p, 0) >= end for p, end in ends.items())

    until(done, f"a group commits to the end: {reader.committed} of {ends}", 60)
    reader.finish()
    seen = {(p, offset): value for p, records in reader.seen.items() for offset, value in records}
    wrong = [place for place, value in seen.items() if expected.get(place) != value]
    assert not wrong, f"a reader saw what is not in the log, first at {wrong[0]}"
    assert seen.keys() == expected.keys(), f"{len(expected) - len(seen)} records were never given to the group"
