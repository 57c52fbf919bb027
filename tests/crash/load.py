"""A load that keeps books: producers that number their records and note what was acknowledged, a group that notes
what it committed."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition

from tests.support.members import QUIET

FAST = {
    **QUIET,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 100,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 100,
    "socket.keepalive.enable": True,
}


class Writer:
    """Writes 0, 1, 2, ... round robin over the partitions until stopped. `acked` is (partition, offset) -> value,
    as the server said."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, per_second: int, **settings: Any) -> None:
        self.topic, self.partitions, self.per_second = topic, partitions, per_second
        self.sent = 0
        self.acked: dict[tuple[int, int], int] = {}
        self.acked_somewhere: set[int] = set()  # the client knows by a later ack that it is there, but not where
        self.failed: list[str] = []
        self.fatal: list[str] = []
        self._stop = threading.Event()
        self.producer = Producer(
            {**FAST, "bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 2, "error_cb": self._error, **settings}
        )
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _error(self, error: Any) -> None:
        if error.fatal():
            self.fatal.append(str(error))

    def _delivered(self, error: Any, message: Any) -> None:
        if error:
            self.failed.append(str(error))
        elif message.offset() is None:
            self.acked_somewhere.add(int(message.value()))
        else:
            place = (message.partition(), message.offset())
            assert place not in self.acked, f"two records acknowledged at {place}"
            self.acked[place] = int(message.value())

    def _run(self) -> None:
        began = time.monotonic()
        while not self._stop.is_set():
            due = int((time.monotonic() - began) * self.per_second)
            while self.sent < due:
                with contextlib.suppress(BufferError):
                    self.producer.produce(
                        self.topic,
                        str(self.sent).encode(),
                        partition=self.sent % self.partitions,
                        on_delivery=self._delivered,
                    )
                    self.sent += 1
                self.producer.poll(0)
            self.producer.poll(0.005)

    def finish(self, timeout_seconds: float = 30) -> None:
        self._stop.set()
        self.thread.join(10)
        assert self.producer.flush(timeout_seconds) == 0, "records still waiting for their acknowledgement"


class Reader:
    """A group of one that reads and commits by hand; `committed` is the newest offset of each partition that the
    server has acknowledged."""

    def __init__(self, bootstrap: str, topic: str, group: str, **settings: Any) -> None:
        self.bootstrap, self.topic, self.group = bootstrap, topic, group
        self.committed: dict[int, int] = {}
        self.seen: dict[int, list[tuple[int, int]]] = {}
        self._stop = threading.Event()
        self.consumer = Consumer(
            {
                **FAST,
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 10000,
                "fetch.wait.max.ms": 50,
                **settings,
            }
        )
        self.consumer.subscribe([topic])
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        last = time.monotonic()
        while not self._stop.is_set():
            for message in self.consumer.consume(200, 0.05):
                if not message.error():
                    partition, offset, value = place_and_value(message)
                    self.seen.setdefault(partition, []).append((offset, int(value)))
            if time.monotonic() - last > 0.1:
                last = time.monotonic()
                with contextlib.suppress(KafkaException):
                    for part in self.consumer.commit(asynchronous=False) or ():
                        if part.error is None and part.offset >= 0:
                            self.committed[part.partition] = part.offset
        self.consumer.close()

    def finish(self) -> None:
        self._stop.set()
        self.thread.join(30)
        assert not self.thread.is_alive()


def place_and_value(message: Message) -> tuple[int, int, bytes]:
    """Of a record that was read, which has all three: confluent-kafka's types allow for none of them."""
    partition, offset, value = message.partition(), message.offset(), message.value()
    assert partition is not None and offset is not None and isinstance(value, bytes)
    return partition, offset, value


def read_all(bootstrap: str, topic: str, partitions: int) -> dict[int, list[tuple[int, int]]]:
    """Everything in the topic: partition -> [(offset, value)]."""
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "audit",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
    found: dict[int, list[tuple[int, int]]] = {p: [] for p in range(partitions)}
    at_end: set[int] = set()
    deadline = time.monotonic() + 60
    while len(at_end) < partitions:
        assert time.monotonic() < deadline, "the log does not read to its end"
        for message in consumer.consume(1000, 0.2):
            if message.error():
                at_end.add(message.partition() or 0)
            else:
                partition, offset, value = place_and_value(message)
                found[partition].append((offset, int(value)))
    consumer.close()
    return found


class Books(Protocol):
    """What a producer has sent, and what was acknowledged: where, or only that it was."""

    sent: int
    acked: dict[tuple[int, int], int]
    acked_somewhere: set[int]


def check_books(writer: Books, found: dict[int, list[tuple[int, int]]], idempotent: bool) -> None:
    """Every acknowledged record at the offset that was said, no value twice, each partition in the order of writing."""
    by_place = {(p, offset): value for p, records in found.items() for offset, value in records}
    lost = {place: value for place, value in writer.acked.items() if by_place.get(place) != value}
    assert not lost, f"{len(lost)} acknowledged records lost or changed, first {next(iter(lost.items()))}"
    missing = writer.acked_somewhere - set(by_place.values())
    assert not missing, f"{len(missing)} acknowledged records lost, first {min(missing)}"
    for partition, records in found.items():
        offsets, values = [o for o, _ in records], [v for _, v in records]
        assert offsets == sorted(set(offsets)), f"offsets of partition {partition} go back"
        assert len(values) == len(set(values)), f"a value twice in partition {partition}"
        if idempotent:
            assert values == sorted(values), f"partition {partition} is out of order"
            assert offsets == list(range(len(offsets))), f"a hole in partition {partition}"
    if idempotent:
        delivered = sorted([*writer.acked.values(), *writer.acked_somewhere])
        assert delivered == list(range(writer.sent)), "an idempotent producer gave up on a record"
