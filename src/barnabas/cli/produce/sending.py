"""Sending records fast and knowing what became of them: used by `produce`.

librdkafka batches and retries; only failures come back to Python (`delivery.report.only.error`). When its queue is full
we wait for it to drain: a pipe is then simply read more slowly.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypedDict

from confluent_kafka import KafkaError, KafkaException

from barnabas.cli.common.failure import Failure, warn
from barnabas.cli.common.leaderless import Leaderless
from barnabas.cli.common.link import of_kafka_error
from barnabas.cli.produce.lines import Input
from barnabas.client.admin.full_disks import FullDisks
from barnabas.model.limits import CLI_LINE_MAX_BYTES

if TYPE_CHECKING:
    from confluent_kafka import Message, Producer

FULL_WAIT_S = 0.05
DELIVERY_S = 30
SETTINGS: dict[str, object] = {
    "delivery.report.only.error": True,
    "linger.ms": 5,
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 256 * 1024,
    "sticky.partitioning.linger.ms": 10,
    # How large a record may be is the topic's matter (max.message.bytes), not librdkafka's. Batches stay at batch.size.
    "message.max.bytes": CLI_LINE_MAX_BYTES + (1 << 20),
    "message.timeout.ms": DELIVERY_S * 1000,  # a person waits; librdkafka's five minutes look like a hang
}
# Kafka's own hash by default, so that a key lands where a Java producer would put it (librdkafka alone would not).
PARTITIONERS = {
    "murmur2": "murmur2_random",
    "crc32": "consistent_random",
    "fnv1a": "fnv1a_random",
    "random": "random",
    "round-robin": "murmur2_random",  # the partition is named with each record instead
}


class _More(TypedDict, total=False):
    """What librdkafka need not be told of most records."""

    timestamp: int
    headers: list[tuple[str, str | bytes | None]]


class Failures:
    """What did not arrive. One for the whole producer: a callback with every record costs a third of the speed."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    def __call__(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self.count += 1
            self.first = self.first or error.str()


class Sender:
    """Counts what was handed over; `finish` waits until the node has it all, or does not."""

    def __init__(self, producer: Producer, topic: str, *, round_robin: int = 0, partition: int | None = None) -> None:
        self.producer = producer
        self.topic = topic
        self.records = 0
        self.bytes = 0
        self._turns = itertools.cycle(range(round_robin)) if round_robin else None
        self._partition = -1 if partition is None else partition
        self._started = time.monotonic()
        self.full_disk = ""  # once it is known that records wait because of one
        self._full_disks = FullDisks(producer, self._tell_full_disk)
        self._only = None if partition is None else (partition,)
        self._leaderless = Leaderless(producer, topic, f"Each record waits for it, {DELIVERY_S} s at most.")
        self._waiting = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    @property
    def plain(self) -> bool:
        """Whether lines may go the fast way."""
        return self._turns is None

    def send_values(self, values: list[bytes]) -> None:
        """Lines as they are: no key, no headers, partitions by the producer. The fast way."""
        produce, topic, partition = self.producer.produce, self.topic, self._partition
        for value in values:
            try:
                produce(topic, value, None, partition)
            except BufferError:
                self._push((topic, value, None, partition), {})
            except KafkaException as error:
                raise _refused(error, topic, partition) from None
        self.records += len(values)
        self.bytes += sum(map(len, values))
        self.producer.poll(0)

    def send(self, inputs: Iterable[Input], headers: list[tuple[str, bytes | None]]) -> None:
        topic, turns, usual, push = self.topic, self._turns, self._partition, self._push
        records = size = 0
        for value, key, own_headers, partition, timestamp in inputs:
            if partition is None:
                partition = usual if turns is None else next(turns)
            more: _More = {}
            if timestamp is not None:
                more["timestamp"] = timestamp
            if headers or own_headers:
                more["headers"] = [*headers, *(own_headers or ())]
            push((topic, value, key, partition), more)
            records += 1
            size += len(value or b"") + len(key or b"")
        self.records += records
        self.bytes += size
        self.producer.poll(0)

    def _tell_full_disk(self, text: str) -> None:
        if not self.full_disk:
            warn(text + ".")
        self.full_disk = text

    @property
    def no_leader(self) -> str:
        """Which partitions have none, once it is known that records wait for it."""
        return self._leaderless.told

    def finish(self) -> None:
        while left := self.producer.flush(0.2):
            self._look(left)

    def _look(self, waiting: int) -> None:
        """So many records have no answer: find out why, when that lasts."""
        if waiting != self._waiting:
            self._waiting = waiting
            self._leaderless.progress()
        self._full_disks.look(waiting)
        self._leaderless.look(self._only)

    def _push(self, arguments: tuple[str, bytes | None, bytes | None, int], more: _More) -> None:
        while True:
            try:
                self.producer.produce(*arguments, **more)
                return
            except BufferError:
                self.producer.poll(FULL_WAIT_S)
                self._look(len(self.producer))
            except KafkaException as error:
                raise _refused(error, arguments[0], arguments[3]) from None


def _refused(error: KafkaException, topic: str, partition: int) -> Failure:
    """By librdkafka, before anything is sent: it knows the topic's partitions already."""
    if error.args[0].code() == KafkaError._UNKNOWN_PARTITION:
        return Failure(
            f"the record did not arrive: {topic} has no partition {partition}",
            f"Give it more: barnabas topic grow {topic} N, or leave the partition out.",
        )
    return of_kafka_error(error)
