"""Readers of both kinds, and one that runs beside everything else and notes what it sees."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from tests.support.members import QUIET

FAST = {
    **QUIET,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 100,
}
Place = tuple[int, int]  # partition, offset


def consumer(bootstrap: str, level: str = "read_committed", **more: Any) -> Consumer:
    settings = {"group.id": "readers", "enable.auto.commit": False, "isolation.level": level, "fetch.wait.max.ms": 50}
    return Consumer({**FAST, "bootstrap.servers": bootstrap, **settings, **more})


def values(bootstrap: str, topic: str, level: str = "read_committed", partitions: int = 1) -> list[bytes]:
    """Every value that is there now, by partition and offset."""
    return [value for _, value in sorted(records(bootstrap, topic, level, partitions).items())]


def records(
    bootstrap: str, topic: str, level: str = "read_committed", partitions: int = 1, timeout_seconds: float = 30
) -> dict[Place, bytes]:
    reader = consumer(bootstrap, level, **{"enable.partition.eof": True})
    for partition in range(partitions):
        _find_leader(reader, topic, partition)
    reader.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
    found: dict[Place, bytes] = {}
    at_end: set[int] = set()
    deadline = time.monotonic() + timeout_seconds
    while len(at_end) < partitions:
        assert time.monotonic() < deadline, f"{topic} does not read to its end"
        message: Any
        first = reader.poll(0.2)  # consume() would wait for all 1,000 until its time is over
        for message in [] if first is None else [first, *reader.consume(1000, 0)]:
            if not message.error():
                found[message.partition(), message.offset()] = message.value()
            elif message.error().code() == -191:  # the end of a partition
                at_end.add(message.partition())
    reader.close()
    return found


def _find_leader(reader: Consumer, topic: str, partition: int) -> None:
    """Asked for the bounds of a partition, librdkafka finds its leader at once; to read it, it looks once a second. A
    server that is down or has no leader at the moment is for the reading to wait for."""
    with suppress(KafkaException):
        reader.get_watermark_offsets(TopicPartition(topic, partition), 1)


class Beside:
    """Reads a topic all the while, through every restart of the server. `seen` holds each record once, in the order in
    which it came; one that comes again must be the same."""

    def __init__(self, bootstrap: str, topic: str, partitions: int = 1, level: str = "read_committed") -> None:
        self.seen: dict[Place, bytes] = {}
        self.wrong: list[str] = []
        self._stop = threading.Event()
        self._reader = consumer(bootstrap, level)
        self._reader.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        last: dict[int, int] = {}
        while not self._stop.is_set():
            message: Any
            for message in self._reader.consume(500, 0.05):
                if message.error():
                    continue
                place = (message.partition(), message.offset())
                if place[1] <= last.get(place[0], -1):
                    self.wrong.append(f"went back from {last[place[0]]} to {place}")
                last[place[0]] = place[1]
                if self.seen.setdefault(place, message.value()) != message.value():
                    self.wrong.append(f"two values at {place}")
        self._reader.close()

    def values(self) -> set[bytes]:
        return set(dict(self.seen).values())

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(20)
        assert not self._thread.is_alive()
        assert not self.wrong, self.wrong[:3]
