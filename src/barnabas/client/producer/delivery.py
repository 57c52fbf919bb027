"""What `send` gives back: a light handle that is settled when the cluster has answered.

It is a callable, so that librdkafka can call the handle itself and no closure is made for each record. It keeps three
numbers, not the record. Nothing runs in a thread of ours: handles are settled while the program is inside `send`,
`poll`, `flush` or `result`, always in its own thread.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from barnabas.client.common.callbacks import call
from barnabas.client.common.rdkafka import Delivered
from barnabas.client.errors import (
    BarnabasError,
    DeliveryFailed,
    DeliveryNotAllowed,
    DeliveryToUnknownTopic,
    NotAllowed,
    TimedOut,
    UnknownTopic,
    translate,
)
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import topic_name_problem

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from barnabas.client.transactions.librdkafka import Transactions

PURGED = (-151, -152)  # librdkafka's: thrown away in flight, in the queue
UNKNOWN_PARTITION = -190  # librdkafka's: the topic is there, this partition of it is not
UNSEEN_MAX = 1_000  # failures remembered until the next flush
WAIT_SLICE_S = 0.02  # how long one wait inside librdkafka lasts: bounds the reaction to Ctrl-C and to other threads


class RecordMetadata(NamedTuple):
    """Where a record is now. The offset is -1 when it is not known (acks=0)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


OnDelivery = Callable[[BarnabasError | None, RecordMetadata | None], None]


class Postman(Protocol):
    """The side of a producer that a handle talks to."""

    def wait(self, seconds: float) -> None: ...
    def undelivered(self, failure: Delivery | Deliveries) -> None: ...
    def explain(self, topic: str, partition: int | None, error: KafkaError) -> BarnabasError: ...


class Delivery:
    """The fate of one record."""

    __slots__ = ("_error", "_offset", "_on_delivery", "_partition", "_postman", "_seen", "_timestamp_ms", "_topic")

    def __init__(self, postman: Postman, topic: str, on_delivery: OnDelivery | None) -> None:
        self._postman = postman
        self._topic = topic
        self._on_delivery = on_delivery
        self._partition: int | None = None  # None: not settled yet
        self._error: BarnabasError | None = None

    def __call__(self, error: KafkaError | None, message: Delivered) -> None:
        """librdkafka's side: the record was delivered, or never will be."""
        partition, offset = message.partition(), message.offset()
        if error is None:
            self._offset = -1 if offset is None else offset
            self._timestamp_ms = message.timestamp()[1]
        else:
            self._error = self._postman.explain(self._topic, partition, error)
        self._partition = -1 if partition is None else partition  # last: it says "settled" to other threads
        if self._on_delivery is not None:
            if error is None:
                call(self._on_delivery, None, self._record())
            else:
                call(self._on_delivery, self._error, None)
        elif error is not None:
            self._seen = False
            self._postman.undelivered(self)

    @property
    def done(self) -> bool:
        """Is the answer there?"""
        return self._partition is not None

    @property
    def error(self) -> BarnabasError | None:
        """Why it failed, if it has."""
        return self._error

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Waits for the answer, and for no linger: somebody is waiting. Raises what went wrong."""
        if self._partition is None:
            wait_until(lambda: self._partition is not None, self._postman, timeout, f"send to {self._topic!r}")
        if self._error is not None:
            self._seen = True
            raise self._error
        return self._record()

    def _record(self) -> RecordMetadata:
        return RecordMetadata(self._topic, self._partition or 0, self._offset, self._timestamp_ms)

    def unseen_failures(self) -> int:
        return 0 if self._seen else 1

    def __repr__(self) -> str:
        if not self.done:
            return f"<Delivery to {self._topic!r}, under way>"
        return f"<Delivery failed: {self._error}>" if self._error else f"<Delivery {self._record()}>"


class Deliveries:
    """The fate of many records sent at once: counted, not listed."""

    __slots__ = ("_error", "_postman", "_seen", "_topic", "delivered", "failed", "sent")

    def __init__(self, postman: Postman, topic: str) -> None:
        self._postman = postman
        self._topic = topic
        self._error: BarnabasError | None = None
        self._seen = False
        self.sent = 0
        self.delivered = 0
        self.failed = 0

    def __call__(self, error: KafkaError | None, message: Delivered) -> None:
        if error is None:
            self.delivered += 1
            return
        if self._error is None:
            self._error = self._postman.explain(self._topic, message.partition(), error)
            self._postman.undelivered(self)
        self.failed += 1

    @property
    def done(self) -> bool:
        return self.delivered + self.failed == self.sent

    @property
    def error(self) -> BarnabasError | None:
        """The first failure, if there was one."""
        return self._error

    def result(self, timeout: float | None = None) -> int:
        """Waits for all; gives how many were delivered, or raises if any was not."""
        if not self.done:
            wait_until(lambda: self.done, self._postman, timeout, f"send to {self._topic!r}")
        if self._error is not None:
            self._seen = True
            raise failure_of(self.failed, self._error)
        return self.delivered

    def unseen_failures(self) -> int:
        return 0 if self._seen else self.failed


class Unseen:
    """Failures that nobody was told of: no `result()`, no callback. The next flush tells."""

    def __init__(self) -> None:
        self._failures: list[Delivery | Deliveries] = []

    def add(self, failure: Delivery | Deliveries) -> None:
        if len(self._failures) < UNSEEN_MAX:
            self._failures.append(failure)

    def forget(self) -> None:
        self._failures = []

    def tell(self) -> None:
        """Raises for all of them, once."""
        failures, self._failures = self._failures, []
        count = sum(each.unseen_failures() for each in failures)
        if count:
            first = next(each.error for each in failures if each.unseen_failures() and each.error is not None)
            raise failure_of(count, first)


def failure_of(count: int, first: BarnabasError) -> DeliveryFailed:
    if count == 1 and isinstance(first, DeliveryFailed):
        return first
    many = "1 record was" if count == 1 else f"{count} records were"
    return DeliveryFailed(f"{many} not delivered; the first: {first}", first.code, count)


def explain(
    topic: str, partition: int | None, error: KafkaError, trouble: str, transactions: Transactions | None = None
) -> BarnabasError:
    """A failed delivery as one line, with librdkafka's last complaint when all it knows is that time ran out."""
    where = topic if partition is None or partition < 0 else f"{topic}-{partition}"
    if transactions is not None and error.code() in PURGED:
        return transactions.lost(f"deliver to {where}")
    reason = translate(error, f"deliver to {where}")
    text = str(reason)
    if isinstance(reason, UnknownTopic):
        if error.code() == UNKNOWN_PARTITION:
            return DeliveryToUnknownTopic(no_partition(f"deliver to {topic!r}", topic, partition), reason.code)
        return DeliveryToUnknownTopic(
            f"{text}. The cluster does not create topics by itself; create it: barnabas topic create {topic}",
            reason.code,
        )
    if reason.code is ErrorCode.INVALID_TOPIC_EXCEPTION:
        problem = topic_name_problem(topic)
        why = f"it cannot be a topic: {problem}" if problem else "the cluster takes no records for it"
        text = f"deliver to {topic!r}: {why}"
    if reason.code is ErrorCode.MESSAGE_TOO_LARGE:
        text = (
            f"{text}: the topic's max.message.bytes is smaller than this batch. "
            f"Raise it: barnabas config set topic {topic} max.message.bytes=..."
        )
    if isinstance(reason, TimedOut):
        text += f" ({trouble})" if trouble else f". Has it a leader? See: barnabas topic describe {topic}"
    return (DeliveryNotAllowed if isinstance(reason, NotAllowed) else DeliveryFailed)(text, reason.code)


def no_partition(doing: str, topic: str, partition: int | None) -> str:
    return f"{doing}: it has no partition {partition}. See how many: barnabas topic describe {topic}"


def wait_until(done: Callable[[], bool], postman: Postman, timeout: float | None, doing: str) -> None:
    deadline = None if timeout is None else time.monotonic() + timeout
    while not done():
        left = WAIT_SLICE_S if deadline is None else min(WAIT_SLICE_S, deadline - time.monotonic())
        if left <= 0:
            raise TimedOut(f"{doing}: no answer after {timeout} s; the record is still on its way")
        postman.wait(left)
