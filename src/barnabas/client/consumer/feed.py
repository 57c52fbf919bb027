"""librdkafka's consumer as a source of batches: records out, everything else sorted.

A wait is for the first record only, and the rest of the batch is what has arrived by then, so that a lone record is not
held up and a flood is taken by the hundred. (librdkafka's own batch call would wait for the batch to fill.)

Among the records come events: the end of a partition, errors. Trouble that librdkafka retries by itself is logged; what
needs a person (no such topic, not allowed, a fatal error) is raised, after the records that came before it.
"""

from __future__ import annotations

import time

from confluent_kafka import KafkaError, KafkaException

from barnabas.client.common.connection import logger
from barnabas.client.common.rdkafka import ConsumerHandle, RawMessage
from barnabas.client.consumer.membership import TOPIC_WAIT_S, Membership, unknown_topic
from barnabas.client.consumer.start import LOOKUP_S
from barnabas.client.errors import BarnabasError, Closed, translate
from barnabas.model.ids import TopicPartition

_RETRIED = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._RESOLVE,
        KafkaError._TIMED_OUT,
        KafkaError._MAX_POLL_EXCEEDED,  # the group has moved on; polling again joins again
        KafkaError._WAIT_COORD,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.ILLEGAL_GENERATION,
    }
)


class Feed:
    def __init__(self, handle: ConsumerHandle, membership: Membership, address: str) -> None:
        self._handle = handle
        self._membership = membership
        self._address = address
        self._missing: dict[str, float] = {}  # topics that were not there, and when to look again
        self._failure: BarnabasError | None = None
        self._ended: set[TopicPartition] = set()

    def fetch(self, max_records: int, wait_s: float) -> list[RawMessage]:
        """Up to `max_records` raw records; an empty list when none came in time."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        self._membership.maintain()
        if self._missing:
            self._look_for_missing()
        try:
            first = self._handle.poll(wait_s)
            if first is None:
                return []
            batch = [first]
            if max_records > 1:
                batch += self._handle.consume(max_records - 1, 0)
                if first.error() is None and self._has_left(first):
                    del batch[0]
        except KafkaException as error:
            raise translate(error, "read", self._address) from None
        except RuntimeError as error:  # how librdkafka's Python says that it was closed meanwhile
            raise Closed(f"this consumer is closed ({error})") from None
        records = [raw for raw in batch if raw.error() is None]
        if len(records) != len(batch):
            for raw in batch:
                if raw.error() is not None:
                    self._event(raw)
            if not records and self._failure is not None:
                failure, self._failure = self._failure, None
                raise failure
        return records

    def _has_left(self, raw: RawMessage) -> bool:
        """Its partition went to another member while the rest of the batch was taken. (Of the rest, librdkafka has
        thrown away what is no longer ours.)"""
        return TopicPartition(raw.topic(), raw.partition()) not in self._membership.assigned

    def _look_for_missing(self) -> None:
        for name in [each for each, look_at in self._missing.items() if time.monotonic() >= look_at]:
            del self._missing[name]
            try:
                if not self._handle.list_topics(name, timeout=LOOKUP_S).topics[name].partitions:
                    raise unknown_topic(name, self._address)
            except KafkaException as error:  # the cluster is away: that is another trouble, and librdkafka's
                logger.info("cannot look for %s: %s", name, error)

    def at_end(self) -> bool:
        """Has every partition that is ours been read to its end, once?"""
        return self._membership.joined_at is not None and self._ended >= self._membership.assigned

    def restart(self, partitions: set[TopicPartition]) -> None:
        """These are read anew: their end lies ahead again."""
        self._ended -= partitions

    def _event(self, raw: RawMessage) -> None:
        error = raw.error()
        assert error is not None
        code = error.code()
        if code == KafkaError._PARTITION_EOF:
            self._ended.add(TopicPartition(raw.topic(), raw.partition()))
        elif code == KafkaError.UNKNOWN_TOPIC_OR_PART and not error.fatal():
            # Subscribing creates the topic where the cluster does so, but the first answer says that it is not there,
            # and librdkafka says so only once: so it is looked for again in a moment.
            logger.info("%s", error.str())
            self._missing[raw.topic() or "?"] = time.monotonic() + TOPIC_WAIT_S
        elif code in _RETRIED and not error.fatal():
            logger.warning("%s", error.str())
        else:
            self._failure = translate(error, f"read {raw.topic()!r}" if raw.topic() else "read", self._address)
