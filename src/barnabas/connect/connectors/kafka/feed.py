"""One consumer for all partitions that a source reads: each reader gets what is its own.

A consumer of librdkafka has threads and connections of its own, so one for each partition would be many.
"""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.errors import Unavailable

_CONSUME = 1000
_WAITING_MAX = 5000  # messages of a partition whose reader does not read
_WAIT_S = 20.0
_FAILURES = (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError._RESOLVE)
_LOST = (KafkaError._AUTO_OFFSET_RESET, KafkaError._LOG_TRUNCATION, KafkaError.OFFSET_OUT_OF_RANGE)

Place = tuple[str, int]


class Feed:
    def __init__(self, make: Callable[[Callable[[KafkaError], None]], Cluster], group: str, isolation: str) -> None:
        """`make` gives the cluster, with what is called for errors. Raises Unavailable when nobody answers."""
        cluster = make(self._on_error)
        cluster.check()
        self.bootstrap = cluster.bootstrap
        self._lock = threading.Lock()
        self._failed = ""
        self._waiting: dict[Place, collections.deque[Message]] = {}
        self._problems: dict[Place, KafkaError] = {}
        self._paused: set[Place] = set()
        self.ends: dict[Place, int] = {}  # where a partition was read to its end
        self._consumer: Consumer = cluster.consumer(
            group_id=group,
            auto_offset_reset="error",
            enable_auto_offset_store=False,
            isolation_level=isolation,
            enable_partition_eof=True,
            queued_max_messages_kbytes=16 * 1024,
            fetch_error_backoff_ms=200,
        )

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _FAILURES:
            self._failed = error.str()

    def open(self, place: Place, offset: int, epoch: int | None) -> None:
        topic, partition = place
        with self._lock:
            self._waiting[place] = collections.deque()
            self._problems.pop(place, None)
            start = TopicPartition(topic, partition, offset, leader_epoch=-1 if epoch is None else epoch)
            called(lambda: self._consumer.incremental_assign([start]))

    def close_place(self, place: Place) -> bool:
        """Whether that was the last."""
        with self._lock:
            if self._waiting.pop(place, None) is not None:
                self._paused.discard(place)
                try:
                    self._consumer.incremental_unassign([TopicPartition(*place)])
                except (KafkaException, RuntimeError):  # closed, or broken
                    self._failed = self._failed or "the consumer has failed"
            return not self._waiting

    def bounds(self, place: Place) -> tuple[int, int]:
        found = called(lambda: self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=_WAIT_S))
        if found is None:
            raise Unavailable(f"the leader of {place[0]}-{place[1]} at {self.bootstrap} does not answer")
        return found

    def known_bounds(self, place: Place) -> tuple[int, int] | None:
        """As of the last fetch, without asking."""
        found = called(lambda: self._consumer.get_watermark_offsets(TopicPartition(*place), cached=True))
        return found if found is not None and found[1] >= 0 else None

    def take(self, place: Place, most: int, wait_s: float) -> list[Message]:
        """Messages of a partition. Raises Unavailable, and LostOffset."""
        deadline = time.monotonic() + wait_s
        with self._lock:
            waiting = self._waiting[place]
            while not waiting:
                left = max(0.0, deadline - time.monotonic())
                found = self._consume(left)
                self._check(place)
                if not found and left <= 0:
                    return []
            taken = [waiting.popleft() for _ in range(min(most, len(waiting)))]
            if place in self._paused and len(waiting) < _WAITING_MAX // 2:
                self._paused.discard(place)
                self._call(lambda: self._consumer.resume([TopicPartition(*place)]))
            return taken

    def _check(self, place: Place) -> None:
        problem = self._problems.pop(place, None)
        if problem is not None:
            if problem.code() in _LOST:
                raise LostOffset(problem.str())
            raise Unavailable(f"{place[0]}-{place[1]} at {self.bootstrap}: {problem.str()}")
        if self._failed:
            raise Unavailable(f"cluster {self.bootstrap}: {self._failed}")

    def _consume(self, wait_s: float) -> bool:
        messages: list[Message] = []
        self._call(lambda: messages.extend(self._next(min(wait_s, 0.5))))
        for message in messages:
            self._sort(message)
        if messages:
            self._failed = ""
        return bool(messages)

    def _next(self, wait_s: float) -> list[Message]:
        """What is there, as soon as something is. (consume() alone would wait for all that it is asked for.)"""
        first = self._consumer.poll(wait_s)
        return [] if first is None else [first, *self._consumer.consume(_CONSUME - 1, timeout=0)]

    def _sort(self, message: Message) -> None:
        error, topic, partition = message.error(), message.topic(), message.partition()
        if topic is None or partition is None:
            if error is not None and error.code() in _FAILURES:
                self._failed = error.str()
            return
        place = (topic, partition)
        waiting = self._waiting.get(place)
        if waiting is None:
            return
        if error is not None:
            if error.code() == KafkaError._PARTITION_EOF:
                self.ends[place] = message.offset() or 0
            elif not error.retriable():
                self._problems[place] = error
            return
        self.ends.pop(place, None)
        waiting.append(message)
        if len(waiting) > _WAITING_MAX and place not in self._paused:
            self._paused.add(place)
            self._call(lambda: self._consumer.pause([TopicPartition(topic, partition)]))

    def _call(self, work: Callable[[], object]) -> None:
        try:
            called(work)
        except RuntimeError as problem:  # of a consumer that is closed
            raise Unavailable(f"cluster {self.bootstrap}: {problem}") from None

    def close(self) -> None:
        with self._lock:
            self._consumer.close()


class LostOffset(Exception):
    """The partition does not have the offset that comes next."""
