"""A member of a sink's group: records of its partitions to the target, each partition by a writer of its own.

A partition that cannot be written waits and is tried again, and the others go on. While it waits, the member polls as
ever, so it stays in the group. Where the target keeps the next offset, that one counts, also when it is lower than what
was written before: a database restored from a backup gets again what it has lost.

The group's offset moves when everything below it is durable in the target, dead letters included.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.contract import Behind, Sink, Value
from barnabas.connect.definition.definition import Definition
from barnabas.connect.definition.references import resolved
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.runtime import dead_letters
from barnabas.connect.runtime.dead_letter_writer import DeadLetterWriter
from barnabas.connect.runtime.decoding import Decoding
from barnabas.connect.runtime.handing_out import Place, hand_out
from barnabas.connect.runtime.partition_writing import PartitionWriting
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.shapes import give

log = logging.getLogger("barnabas.connect")

_POLL_S = 0.1  # librdkafka waits for a whole batch, or for this
_COMMIT_S = 1.0
_BEHIND_S = 2.0
_SESSION_MS = 6_000  # a worker that died is missed after this; less is refused by Kafka as it comes
_FETCH_QUEUE_KB = 2 * 1024  # what librdkafka holds for this member; in memory small records take three times as much
_FETCH_BYTES = 512 * 1024  # of a partition, compressed, in an answer


class SinkTask:
    def __init__(self, cluster: Cluster, definition: Definition, progress: Progress, number: int) -> None:
        self._cluster = cluster
        self._definition = definition
        self._progress = progress
        self._decoding = Decoding(definition)
        self._dead = DeadLetterWriter(cluster, definition, number)
        self._partitions: dict[Place, PartitionWriting] = {}
        self._committed: dict[Place, int] = {}
        self._paused: set[Place] = set()
        self._consumer: Consumer | None = None
        self._sink: Sink | None = None
        self._secrets: Value = None

    def run(self, stop: threading.Event) -> None:
        """Until `stop` is set, or something is raised."""
        definition = self._definition
        self._secrets = self._read_secrets()
        self._sink = definition.sink()
        give(self._sink, self._decoding.shapes)
        dead_letters.ensure(self._cluster, definition)
        consumer = self._consumer = self._cluster.consumer(
            group_id=definition.group,
            auto_offset_reset=definition.start,
            enable_partition_eof=True,
            partition_assignment_strategy="cooperative-sticky",
            session_timeout_ms=_SESSION_MS,
            heartbeat_interval_ms=1000,
            queued_max_messages_kbytes=_FETCH_QUEUE_KB,
            fetch_message_max_bytes=_FETCH_BYTES,
            topic_metadata_refresh_interval_ms=5000,
        )
        topics = [*definition.topics, definition.redrive_topic]
        try:
            consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)
            self._work(consumer, stop)
        finally:
            self._end(consumer)

    def _work(self, consumer: Consumer, stop: threading.Event) -> None:
        commit_at = behind_at = 0.0
        while not stop.is_set():
            messages = called(lambda: consumer.consume(self._definition.batch, timeout=self._wait_s()))
            hand_out(messages, self._partitions)
            for place, writing in self._partitions.items():
                if writing.is_due:
                    self._write(place, writing)
            self._tell()
            now = time.monotonic()
            if now >= commit_at:
                self._commit(consumer, wait=False)
                commit_at = now + _COMMIT_S
            if now >= behind_at:
                self._tell_behind(consumer)
                behind_at = now + _BEHIND_S

    def _wait_s(self) -> float:
        return 0.05 if any(each.waits for each in self._partitions.values()) else _POLL_S

    # --- records ----------------------------------------------------------------------------------------------------

    def _write(self, place: Place, writing: PartitionWriting) -> None:
        consumer = self._consumer
        assert consumer is not None
        try:
            before = writing.pauses.until
            written = writing.write(self._dead)
        except Unavailable as problem:
            pause = writing.failed(problem)
            if self._read_secrets() != self._secrets:
                raise  # a password in a file was changed: the next task reads it
            log.debug("%s %s-%d waits %.1f s", self._definition.name, *place, pause)
            self._pause(consumer, place)
            return
        if written is None:  # opened anew, at another offset
            self._seek(consumer, place, writing.next_offset)
        elif written.records or written.dead:
            self._progress.wrote(written.records, written.dead)
        if before and place in self._paused and not writing.waits:
            self._paused.discard(place)
            _ignoring_lost(lambda: consumer.resume([TopicPartition(*place)]))

    def _read_secrets(self) -> Value:
        """The options with what files and the environment say now."""
        try:
            return resolved(self._definition.options)
        except BadOption as problem:
            return str(problem)

    def _pause(self, consumer: Consumer, place: Place) -> None:
        if place not in self._paused:
            self._paused.add(place)
            _ignoring_lost(lambda: consumer.pause([TopicPartition(*place)]))

    def _seek(self, consumer: Consumer, place: Place, offset: int) -> None:
        try:
            consumer.seek(TopicPartition(*place, offset))
        except KafkaException as error:
            raise Unavailable(
                f"cannot go back to offset {offset} of {place[0]}-{place[1]}: {error.args[0].str()}"
            ) from None

    # --- telling ----------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        problems = [each.problem for each in self._partitions.values() if each.problem]
        if problems:
            self._progress.is_in("waiting", problems[0])
        elif self._partitions or self._consumer is not None:
            self._progress.is_in("running")

    def _tell_behind(self, consumer: Consumer) -> None:
        now_ms = time.time() * 1000
        for place, writing in self._partitions.items():
            try:
                _, high = consumer.get_watermark_offsets(TopicPartition(*place), cached=True) or (0, -1)
            except KafkaException:
                continue
            if high < 0:
                continue
            records = max(0, high - max(writing.durable, 0))
            seconds = 0.0 if not records or not writing.last_ms else max(0.0, (now_ms - writing.last_ms) / 1000)
            self._progress.is_behind(f"{place[0]}-{place[1]}", Behind(records, None, round(seconds, 3)))

    # --- offsets and ownership --------------------------------------------------------------------------------------

    def _commit(self, consumer: Consumer, *, wait: bool, places: Sequence[Place] | None = None) -> None:
        chosen = self._partitions if places is None else {each: self._partitions[each] for each in places}
        due = {
            place: writing.durable
            for place, writing in chosen.items()
            if writing.durable >= 0 and writing.durable != self._committed.get(place)
        }
        if not due:
            return
        offsets = [TopicPartition(*place, offset) for place, offset in due.items()]
        try:
            if wait:
                consumer.commit(offsets=offsets, asynchronous=False)
            else:
                consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            # Another member has the partitions by now, or the coordinator moves: who comes next writes the same again,
            # which the target takes as done.
            log.info("%s: offsets were not committed: %s", self._definition.name, error.args[0].str())
            return
        self._committed.update(due)

    def _assigned(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        assert self._sink is not None
        for each in places:
            writing = PartitionWriting(self._sink, each.topic, each.partition, self._decoding)
            try:
                offset = writing.open()
            except Unavailable as problem:
                writing.failed(problem)
                raise
            if offset is not None:
                each.offset = offset
            self._partitions[each.topic, each.partition] = writing
        consumer.incremental_assign(places)
        self._progress.works_on(f"{topic}-{number}" for topic, number in self._partitions)

    def _revoked(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        """What has gathered is written, and the offsets told, while the partitions are still ours."""
        mine = [(each.topic, each.partition) for each in places if (each.topic, each.partition) in self._partitions]
        for place in mine:
            try:
                self._partitions[place].finish(self._dead)
            except Unavailable as problem:
                log.info("%s: %s-%d is given away unfinished: %s", self._definition.name, *place, problem)
        self._commit(consumer, wait=True, places=mine)
        self._forget(mine)
        consumer.incremental_unassign(places)

    def _lost(self, consumer: Consumer, places: list[TopicPartition]) -> None:
        """They belong to another member already."""
        self._forget([(each.topic, each.partition) for each in places])
        consumer.incremental_unassign(places)

    def _forget(self, places: Sequence[Place]) -> None:
        for place in places:
            if (writing := self._partitions.pop(place, None)) is not None:
                writing.close()
            self._committed.pop(place, None)
            self._paused.discard(place)
        self._progress.works_on(f"{topic}-{number}" for topic, number in self._partitions)

    def _end(self, consumer: Consumer) -> None:
        try:
            _ignoring_lost(consumer.close)  # leaves the group; the partitions are revoked first
        finally:
            self._forget(list(self._partitions))
            self._dead.close()
            if self._sink is not None:
                self._sink.close()


def _ignoring_lost(call: object) -> None:
    """A partition may have been taken away meanwhile: then there is nothing to do."""
    assert callable(call)
    try:
        call()
    except KafkaException as error:
        log.debug("%s", error)
