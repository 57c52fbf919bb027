"""Consumers in the background: each a thread that polls, with what it owns and what it has read, to watch groups
from outside."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer

QUIET: dict[str, Any] = {
    "log_level": 0
}  # librdkafka tells its troubles by callbacks too; its own lines would drown the test's
PROTOCOLS: dict[str, dict[str, Any]] = {
    "range": {"partition.assignment.strategy": "range", "session.timeout.ms": 6000, "heartbeat.interval.ms": 300},
    "cooperative": {
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 6000,
        "heartbeat.interval.ms": 300,
    },
    "consumer": {"group.protocol": "consumer"},
}


class Member:
    """One member of a group. `assigned` is what it owns now; `history` every change; `read` every record as
    (partition, offset, value)."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str],
        protocol: str = "range",
        name: str = "",
        **settings: Any,
    ) -> None:
        self.name, self.protocol = name, protocol
        self.assigned: set[tuple[str, int]] = set()
        self.history: list[tuple[str, tuple[int, ...]]] = []
        self.read: list[tuple[int, int, bytes]] = []
        self.errors: list[KafkaError] = []
        self.lock = threading.Lock()
        self._stop, self._leave = threading.Event(), True
        config = {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 200,
            "client.id": name or "member",
            "fetch.wait.max.ms": 100,
            "error_cb": self.errors.append,
            **PROTOCOLS[protocol],
            **settings,
        }
        self.incremental = protocol != "range"
        self.consumer = Consumer(config)
        self.consumer.subscribe(list(topics), on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lost)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _note(self, what: str, partitions: Sequence[Any]) -> set[tuple[str, int]]:
        found = {(p.topic, p.partition) for p in partitions}
        self.history.append((what, tuple(sorted(p for _, p in found))))
        return found

    def _assign(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        with self.lock:
            found = self._note("assign", partitions)
            self.assigned = self.assigned | found if self.incremental else found

    def _revoke(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        with self.lock:
            self.assigned = self.assigned - self._note("revoke", partitions)

    def _lost(self, consumer: Consumer, partitions: Sequence[Any]) -> None:
        with self.lock:
            self.assigned = self.assigned - self._note("lost", partitions)

    def _run(self) -> None:
        while not self._stop.is_set():
            message: Any = self.consumer.poll(0.1)
            if message is None:
                continue
            if message.error():
                self.errors.append(message.error())
            else:
                with self.lock:
                    self.read.append((message.partition(), message.offset(), message.value()))
        self.consumer.close()

    @property
    def partitions(self) -> set[int]:
        with self.lock:
            return {p for _, p in self.assigned}

    def values(self) -> list[bytes]:
        with self.lock:
            return [value for _, _, value in self.read]

    def close(self) -> None:
        self._stop.set()
        self.thread.join(20)
        assert not self.thread.is_alive(), f"{self.name} does not close"


def until(condition: Callable[[], bool], what: str, timeout_seconds: float = 30) -> None:
    """Wait for it, and say what was awaited when it does not come."""
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in {timeout_seconds} s: {what}"
        time.sleep(0.02)


def shared(members: Sequence[Member], count: int) -> bool:
    """Whether the members own all `count` partitions, each exactly one owner, and none of the members more than
    its share (rounded up)."""
    owned = [m.partitions for m in members]
    together = [p for parts in owned for p in parts]
    most = -(-count // max(1, len(members)))
    return sorted(together) == list(range(count)) and max(len(parts) for parts in owned) <= most


def write(bootstrap: str, topic: str, values: Sequence[bytes], partitions: int | None = None, **settings: Any) -> None:
    """Write values, round robin over the partitions when their number is given."""
    failed: list[Any] = []
    producer = Producer(
        {**QUIET, "bootstrap.servers": bootstrap, "linger.ms": 5, "message.timeout.ms": 20000, **settings}
    )
    for index, value in enumerate(values):
        where: dict[str, Any] = {} if partitions is None else {"partition": index % partitions}
        producer.produce(topic, value, on_delivery=lambda error, _: failed.append(error) if error else None, **where)
        producer.poll(0)
    assert producer.flush(30) == 0
    assert not failed, failed[:3]
