"""Which partition a record goes to.

`murmur2` is what every Kafka client agrees on: the key's hash, so that a key stays in one partition whoever writes it
(librdkafka's own default is a CRC and disagrees with Java). librdkafka has it in C, so here it only serves those who
want to know the partition themselves. Records without a key stick to one partition for a batch, then move on.

The others are chosen here, in Python, and so need to know how many partitions a topic has: `round_robin` (next, next,
next), `sticky` (one partition until about a batch was written, then another, keys ignored: the largest batches), and a
function of yours, `fn(key, value, partition_count) -> partition`.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from typing import Literal, Protocol

from confluent_kafka import KafkaException

from barnabas.client.common.rdkafka import Handle
from barnabas.client.errors import BadSetting, UnknownTopic, translate
from barnabas.client.serde.serializers import Value
from barnabas.model.errors import ErrorCode

PartitionFunction = Callable[[bytes | None, Value, int], int]
PartitionerName = Literal["murmur2", "round_robin", "sticky"]
COUNT_REFRESH_S = 30.0  # a topic that grew is used in full within half a minute, as librdkafka itself would
COUNT_WAIT_S = 10.0  # a topic that a first write creates takes a moment to appear


class Chooser(Protocol):
    def choose(self, topic: str, key: bytes | None, value: object, partition_count: int) -> int: ...


class RoundRobin:
    def __init__(self) -> None:
        self._turns: dict[str, itertools.count[int]] = {}

    def choose(self, topic: str, key: bytes | None, value: object, partition_count: int) -> int:
        turn = self._turns.get(topic)
        if turn is None:
            turn = self._turns[topic] = itertools.count(random.randrange(partition_count))
        return next(turn) % partition_count


class Sticky:
    """Stays until `batch_bytes` have gone to a partition or `linger_ms` have passed, then takes another at random."""

    def __init__(self, batch_bytes: int, linger_ms: float) -> None:
        self._batch_bytes = batch_bytes
        self._stay_s = max(linger_ms, 1.0) / 1000
        self._places: dict[str, tuple[int, int, float]] = {}  # topic -> (partition, bytes written, leave at)

    def choose(self, topic: str, key: bytes | None, value: object, partition_count: int) -> int:
        now = time.monotonic()
        partition, written, leave_at = self._places.get(topic, (-1, 0, 0.0))
        if now >= leave_at or written >= self._batch_bytes or not 0 <= partition < partition_count:
            partition, written, leave_at = _another(partition, partition_count), 0, now + self._stay_s
        size = len(value) if isinstance(value, (bytes, str)) else 0
        self._places[topic] = (partition, written + size, leave_at)
        return partition


def _another(partition: int, partition_count: int) -> int:
    if partition_count == 1:
        return 0
    chosen = random.randrange(partition_count - 1)
    return chosen + 1 if 0 <= partition <= chosen else chosen


class ByFunction:
    def __init__(self, function: PartitionFunction) -> None:
        self._function = function

    def choose(self, topic: str, key: bytes | None, value: object, partition_count: int) -> int:
        partition = self._function(key, value, partition_count)
        if not isinstance(partition, int) or not 0 <= partition < partition_count:
            raise BadSetting(
                f"the partitioner chose {partition!r}: {topic!r} has partitions 0 to {partition_count - 1}"
            )
        return partition


def make_chooser(
    partitioner: PartitionerName | PartitionFunction, batch_bytes: int, linger_ms: float
) -> Chooser | None:
    """None means: librdkafka chooses (murmur2)."""
    if callable(partitioner):
        return ByFunction(partitioner)
    match partitioner:
        case "murmur2":
            return None
        case "round_robin":
            return RoundRobin()
        case "sticky":
            return Sticky(batch_bytes, linger_ms)
    raise BadSetting(f"no partitioner {partitioner!r}: murmur2, round_robin, sticky, or a function")


class PartitionCounts:
    """How many partitions each topic has, remembered for half a minute."""

    def __init__(self, handle: Handle, bootstrap: str) -> None:
        self._handle = handle
        self._bootstrap = bootstrap
        self._known: dict[str, tuple[int, float]] = {}

    def fresh(self, topic: str) -> int | None:
        """The remembered count, or None when it has to be asked."""
        count, until = self._known.get(topic, (0, 0.0))
        return count if count and time.monotonic() < until else None

    def ask(self, topic: str) -> int:
        """Asks the cluster. A topic that does not exist is asked for until it is created or the wait is over."""
        old = self._known.get(topic, (0, 0.0))[0]
        deadline = time.monotonic() + COUNT_WAIT_S
        pause_s = 0.01
        while True:
            try:
                found = self._handle.list_topics(topic, timeout=COUNT_WAIT_S).topics[topic]
                count, error = len(found.partitions), found.error
            except KafkaException as failure:
                count, error = old, failure.args[0]
            if count:
                self._known[topic] = (count, time.monotonic() + COUNT_REFRESH_S)
                return count
            if time.monotonic() >= deadline:
                doing = f"send to {topic!r}"
                if error is not None:
                    raise translate(error, doing, self._bootstrap)
                raise UnknownTopic(f"{doing}: no such topic", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 0.2)


class Partitioning:
    """The chooser with the counts it needs; without a chooser librdkafka does both."""

    def __init__(self, chooser: Chooser | None, counts: PartitionCounts) -> None:
        self._chooser = chooser
        self._counts = counts

    def knows(self, topic: str) -> bool:
        """May `choose` be called without a question to the cluster?"""
        return self._chooser is None or self._counts.fresh(topic) is not None

    def ask(self, topic: str) -> None:
        self._counts.ask(topic)

    def choose(self, topic: str, key: Value, value: Value) -> int:
        assert self._chooser is not None
        count = self._counts.fresh(topic) or self._counts.ask(topic)
        return self._chooser.choose(topic, key.encode() if isinstance(key, str) else key, value, count)
