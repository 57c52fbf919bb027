"""What is in the topics: every committed record is read, and what is told of it is the last one of each key.

The same consumer reads what workers tell of their connectors.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from barnabas.cli.common.failure import Failure
from barnabas.cli.demo.bus.company import ALERTS, CUSTOMERS, ENRICHED, LOGS, ORDERS, SENSORS, TOPICS
from barnabas.cli.demo.bus.producing.sensors import PROBE
from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.cluster.status import STATUS_TOPIC, TaskStatus
from barnabas.connect.cluster.status import ensure as ensure_status

if TYPE_CHECKING:
    from confluent_kafka import Message

_POLL_S = 0.2
_MOST = 1000


class _Row(msgspec.Struct):
    """The fields that are looked at, of any topic."""

    cents: int = 0
    sensor: str = ""
    number: int = 0
    path: str = ""


Name: TypeAlias = Callable[[bytes, _Row], object]  # what makes two records the same thing


@dataclass
class TopicCount:
    name: Name
    records: int = 0
    probes: int = 0  # of sensors; they count nowhere else
    live: dict[object, int] = field(default_factory=dict)  # cents of an order by its key; of others 0

    @property
    def rows(self) -> int:
        return len(self.live)

    @property
    def cents(self) -> int:
        return sum(self.live.values())

    def add(self, key: bytes, value: bytes | None) -> None:
        row = msgspec.json.decode(value, type=_Row) if value else _Row()
        if row.sensor == PROBE:
            self.probes += 1
            return
        self.records += 1
        if value is None:
            self.live.pop(key, None)
        else:
            self.live[self.name(key, row)] = row.cents


def _by_key(key: bytes, row: _Row) -> object:
    return key


def _by_measurement(key: bytes, row: _Row) -> object:
    return row.sensor, row.number


def _by_request(key: bytes, row: _Row) -> object:
    return row.path


class TopicWatch:
    """Makes the topics and reads them, in a thread of its own, until it is closed."""

    def __init__(self, bootstrap: str) -> None:
        from confluent_kafka import OFFSET_BEGINNING, TopicPartition

        self.counts = {each: TopicCount(_by_key) for each in (CUSTOMERS, ORDERS, ENRICHED)}
        self.counts |= {each: TopicCount(_by_measurement) for each in (SENSORS, ALERTS)}
        self.counts[LOGS] = TopicCount(_by_request)
        self.statuses: dict[str, TaskStatus] = {}
        self._ending = threading.Event()
        self._failure: Exception | None = None
        cluster = Cluster(bootstrap)
        cluster.ensure_topics([new_topic(name, partitions) for name, partitions in TOPICS.items()])
        ensure_status(cluster)
        places = [
            TopicPartition(name, each, OFFSET_BEGINNING) for name, count in TOPICS.items() for each in range(count)
        ]
        self._consumer = cluster.consumer(group_id="barnabas-demo-bus", fetch_wait_max_ms=100)
        self._consumer.assign([*places, TopicPartition(STATUS_TOPIC, 0, OFFSET_BEGINNING)])
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def check(self) -> None:
        if self._failure is not None:
            raise Failure(f"the topics cannot be read: {self._failure}")

    def problems(self) -> list[str]:
        """Of connectors that wait or have failed, one line each."""
        found = sorted(self.statuses.items())
        return [f"{name}: {each.problem}" for name, each in found if each.state in ("waiting", "failed")]

    def written(self, connector: str) -> int:
        """Records, as its worker has told some seconds ago."""
        status = self.statuses.get(connector)
        return status.records if status is not None else 0

    def close(self) -> None:
        self._ending.set()
        self._thread.join(10)

    def _run(self) -> None:
        try:
            while not self._ending.is_set():
                for message in self._consumer.consume(_MOST, _POLL_S):
                    if message.error() is None:
                        self._add(message)
        except Exception as error:  # raised again by `check`, in the thread that shows it
            self._failure = error
        finally:
            self._consumer.close()

    def _add(self, message: Message) -> None:
        topic, key, value = message.topic(), message.key(), message.value()
        assert topic is not None and not isinstance(key, str) and not isinstance(value, str)
        if topic != STATUS_TOPIC:
            self.counts[topic].add(key or b"", value)
        elif value is not None:  # None: the worker has ended
            status = msgspec.json.decode(value, type=TaskStatus)
            self.statuses[status.connector] = status
