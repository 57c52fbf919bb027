"""Which partitions a consumer reads: the share its group gives it, or all of them.

With a group the cluster decides: `GroupMembership` subscribes and follows the rebalances. What is handed out and
finished is stored before a partition leaves, so that its next owner starts after it; what is buffered of it is
forgotten.

Without a group nothing is shared and nothing is committed: `AllPartitions` assigns every partition itself, and looks
again now and then for partitions and topics that were added since. Those are read from their beginning, whatever
`start` says: they are younger than the reader, so that nothing is lost.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from confluent_kafka import OFFSET_BEGINNING, KafkaException
from confluent_kafka import TopicPartition as Place

from barnabas.client.common.callbacks import call
from barnabas.client.common.connection import logger
from barnabas.client.common.rdkafka import ConsumerHandle, TopicMetadata
from barnabas.client.consumer.start import LOOKUP_S, Where, resolve
from barnabas.client.errors import BadSetting, UnknownTopic, translate
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition

RESCAN_S = 10.0  # one Metadata request each time
VISIBLE_WAIT_S = 0.5  # a topic that another node has just created
TOPIC_WAIT_S = 3.0  # a topic that this very question creates appears in milliseconds; then it does not exist

Partitions = list[TopicPartition]
RebalanceCallback = Callable[[Partitions], object]


class Membership(Protocol):
    assigned: set[TopicPartition]
    joined_at: float | None  # when it was first said which partitions are ours
    member_id: str  # who they were given to; empty without a group

    def begin(self) -> None: ...
    def maintain(self) -> None: ...
    def abandon(self) -> None: ...


class GroupMembership:
    def __init__(
        self,
        handle: ConsumerHandle,
        topics: Sequence[str],
        start: Where,
        incremental: bool,
        address: str,
        leaving: Callable[[Partitions], None],
        gone: Callable[[Partitions], None],
        on_assign: RebalanceCallback | None = None,
        on_revoke: RebalanceCallback | None = None,
        on_lost: RebalanceCallback | None = None,
        creates: bool = True,
    ) -> None:
        """`leaving` is called while the partitions are still ours, `gone` when their records must be forgotten."""
        self._creates = creates
        self.assigned: set[TopicPartition] = set()
        self.joined_at: float | None = None
        self.member_id = ""
        self._handle = handle
        self._topics = list(topics)
        self._start = start
        self._incremental = incremental
        self._address = address
        self._leaving = leaving
        self._gone = gone
        self._on_assign = on_assign
        self._on_revoke = on_revoke
        self._on_lost = on_lost

    def begin(self) -> None:
        if self._creates:
            self._create_topics()
        try:
            self._handle.subscribe(self._topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
        except KafkaException as error:
            raise translate(error, f"subscribe to {', '.join(self._topics)}", self._address) from None

    def _create_topics(self) -> None:
        """Asking for a topic creates it, where the cluster does so. A member that subscribes first would join without
        it, and notice it only with its next look at the metadata, seconds later."""
        missing = [each for each in self._topics if not each.startswith("^")]
        deadline = time.monotonic() + VISIBLE_WAIT_S
        while missing and time.monotonic() < deadline:
            try:
                missing = [
                    each for each in missing if not self._handle.list_topics(each, LOOKUP_S).topics[each].partitions
                ]
            except KafkaException as error:  # not a reason to give up: the feed says what is missing for long
                logger.info("cannot look for %s: %s", ", ".join(missing), error)
                return
            if missing:
                time.sleep(0.02)

    def maintain(self) -> None:
        """The group does it."""

    def abandon(self) -> None:
        """The cluster cannot be told that we leave: the partitions count as lost, and no callback comes any more."""
        self._lost(self._handle, [Place(*each) for each in sorted(self.assigned)])
        self._on_revoke = self._on_lost = None

    def _assigned(self, handle: ConsumerHandle, places: list[Place]) -> None:
        partitions = _named(places)
        self.assigned.update(partitions)
        self.member_id = handle.memberid() or ""
        if self.joined_at is None:
            self.joined_at = time.monotonic()
        logger.info("assigned: %s", ", ".join(map(str, partitions)) or "nothing")
        if isinstance(self._start, (int, datetime)) and partitions:
            targets = self._with_start(partitions)
            (handle.incremental_assign if self._incremental else handle.assign)(targets)
        if self._on_assign is not None:
            call(self._on_assign, partitions)

    def _with_start(self, partitions: Partitions) -> list[Place]:
        """librdkafka knows two fallbacks, beginning and end. Any other has to be put in place of a missing commit."""
        found = self._handle.committed([Place(*each) for each in partitions], timeout=LOOKUP_S)
        fresh = [TopicPartition(each.topic, each.partition) for each in found if each.offset < 0]
        return [each for each in found if each.offset >= 0] + resolve(self._handle, fresh, self._start, self._address)

    def _revoked(self, handle: ConsumerHandle, places: list[Place]) -> None:
        partitions = _named(places)
        logger.info("revoked: %s", ", ".join(map(str, partitions)))
        self._leaving(partitions)
        if self._on_revoke is not None:
            call(self._on_revoke, partitions)
        self._forget(partitions)

    def _lost(self, handle: ConsumerHandle, places: list[Place]) -> None:
        """Somebody else may read them already, so nothing is committed any more."""
        partitions = _named(places)
        logger.warning("lost: %s", ", ".join(map(str, partitions)))
        callback = self._on_lost or self._on_revoke
        if callback is not None:
            call(callback, partitions)
        self._forget(partitions)

    def _forget(self, partitions: Partitions) -> None:
        self._gone(partitions)
        self.assigned.difference_update(partitions)


class AllPartitions:
    def __init__(
        self,
        handle: ConsumerHandle,
        topics: Sequence[str],
        start: Where,
        address: str,
        only: Sequence[int] | None = None,
        creates: bool = True,
    ) -> None:
        """`creates`: asking for a topic creates it, where the cluster does so."""
        self.assigned: set[TopicPartition] = set()
        self.joined_at: float | None = time.monotonic()
        self.member_id = ""
        self._handle = handle
        self._names = [each for each in topics if not each.startswith("^")]
        self._patterns = [_compiled(each) for each in topics if each.startswith("^")]
        self._start = start
        self._address = address
        self._only = None if only is None else set(only)
        self._creates = creates
        self._rescan_at = 0.0

    def begin(self) -> None:
        found = self._matching()
        for name in self._names:
            found += self._named_topic(name)
        self._rescan_at = time.monotonic() + RESCAN_S
        self.assigned = set(found)
        self._handle.assign(resolve(self._handle, sorted(found), self._start, self._address))

    def maintain(self) -> None:
        if time.monotonic() < self._rescan_at:
            return
        self._rescan_at = time.monotonic() + RESCAN_S
        try:
            found = self._matching()
            for name in self._names:
                found += self._partitions(self._handle.list_topics(name, timeout=LOOKUP_S).topics[name])
            fresh = sorted(set(found) - self.assigned)
            if fresh:
                logger.info("new partitions: %s", ", ".join(map(str, fresh)))
                self._handle.incremental_assign([Place(*each, OFFSET_BEGINNING) for each in fresh])
                self.assigned.update(fresh)
        except KafkaException as error:  # the cluster is away for a moment: the next look will tell
            logger.info("cannot look for new partitions: %s", error)

    def abandon(self) -> None:
        """Nobody has to be told."""

    def _named_topic(self, name: str) -> Partitions:
        deadline = time.monotonic() + (TOPIC_WAIT_S if self._creates else VISIBLE_WAIT_S)
        while True:
            try:
                found = self._handle.list_topics(name, timeout=LOOKUP_S).topics[name]
            except KafkaException as error:
                raise translate(error, f"read {name!r}", self._address) from None
            if found.partitions:
                break
            if time.monotonic() >= deadline:
                raise unknown_topic(name, self._address)
            time.sleep(0.02)
        partitions = self._partitions(found)
        missing = sorted(self._only - {each.partition for each in partitions}) if self._only is not None else []
        if missing:
            raise UnknownTopic(f"read {name!r}: it has no partition {missing[0]}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partitions

    def _matching(self) -> Partitions:
        if not self._patterns:
            return []
        try:
            topics = self._handle.list_topics(timeout=LOOKUP_S).topics
        except KafkaException as error:
            raise translate(error, "list topics", self._address) from None
        return [
            partition
            for name, found in topics.items()
            if any(pattern.match(name) for pattern in self._patterns)
            for partition in self._partitions(found)
        ]

    def _partitions(self, found: TopicMetadata) -> Partitions:
        wanted = (index for index in found.partitions if self._only is None or index in self._only)
        return [TopicPartition(found.topic, index) for index in wanted]


def unknown_topic(name: str, address: str) -> UnknownTopic:
    text = f"no topic {name!r} on {address}. Create it: barnabas topic create {name}"
    return UnknownTopic(text, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _named(places: Sequence[Place]) -> Partitions:
    return sorted(TopicPartition(each.topic, each.partition) for each in places)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BadSetting(f"{pattern!r} is not a pattern: {error}") from None
