"""A sink's round, in a task of Spark: partitions of topics to the target, until nothing is new or the time is over.

Where the target keeps the next offset, that one counts and not what the driver has said. A partition that the target
does not take is left for a later round; the others go on.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition

from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.contract import Sink
from barnabas.connect.errors import Unavailable
from barnabas.connect.runtime.dead_letter_writer import DeadLetterWriter
from barnabas.connect.runtime.decoding import Decoding
from barnabas.connect.runtime.handing_out import Place, hand_out
from barnabas.connect.runtime.partition_writing import PartitionWriting
from barnabas.connect.shapes import give
from barnabas.connect.spark.asked import Begin, PartitionAnswer, SinkAnswer, SinkAsked, failure_of

log = logging.getLogger("barnabas.connect")

_POLL_S = 0.1
_IDLE_S = 0.5  # nothing new for so long ends a round
_FETCH_QUEUE_KB = 32 * 1024


def run(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        asked = msgspec.json.decode(text, type=SinkAsked)
        answer = SinkAnswer()
        try:
            _run(asked, answer)
        except Exception as problem:  # also defects, ours and of connectors: the driver tells them and tries again
            answer.failure = failure_of(problem)
        yield msgspec.json.encode(answer).decode()


def _run(asked: SinkAsked, answer: SinkAnswer) -> None:
    cluster = asked.cluster()
    sink = asked.definition.sink()
    dead = DeadLetterWriter(cluster, asked.definition, asked.task)
    try:
        _Round(asked, answer, cluster, sink, dead).run()
    finally:
        dead.close()
        sink.close()


class _Round:
    def __init__(
        self, asked: SinkAsked, answer: SinkAnswer, cluster: Cluster, sink: Sink, dead: DeadLetterWriter
    ) -> None:
        self._asked = asked
        self._answer = answer
        self._cluster = cluster
        self._sink = sink
        self._dead = dead
        self._decoding = Decoding(asked.definition)
        give(sink, self._decoding.shapes)
        self._all: dict[Place, PartitionWriting] = {}
        self._working: dict[Place, PartitionWriting] = {}
        self._began = self._moved = time.monotonic()

    def run(self) -> None:
        try:
            begins = [place for each in self._asked.partitions if (place := self._opened(each)) is not None]
            if begins:
                self._work(begins)
        finally:
            for (topic, partition), writing in self._all.items():
                writing.close()
                self._answer.partitions.append(
                    PartitionAnswer(
                        topic=topic,
                        partition=partition,
                        durable=writing.durable,
                        last_ms=writing.last_ms,
                        problem=writing.problem,
                    )
                )

    def _opened(self, begin: Begin) -> TopicPartition | None:
        writing = PartitionWriting(self._sink, begin.topic, begin.partition, self._decoding)
        place = begin.topic, begin.partition
        self._all[place] = writing
        try:
            offset = writing.open()
        except Unavailable as problem:
            writing.failed(problem)
            return None
        self._working[place] = writing
        return TopicPartition(*place, begin.offset if offset is None else offset)

    def _work(self, begins: list[TopicPartition]) -> None:
        consumer = self._cluster.consumer(
            group_id=self._asked.definition.group,  # named for those who watch the cluster; it is not joined
            auto_offset_reset="earliest",  # what was there before has been deleted meanwhile
            enable_partition_eof=True,
            queued_max_messages_kbytes=_FETCH_QUEUE_KB,
        )
        try:
            consumer.assign(begins)
            while not self._is_over:
                hand_out(called(lambda: consumer.consume(self._asked.definition.batch, timeout=_POLL_S)), self._working)
                for place, writing in list(self._working.items()):
                    if writing.is_due:
                        self._write(consumer, place, writing)
            for place, writing in list(self._working.items()):
                self._finish(consumer, place, writing)
        finally:
            consumer.close()

    @property
    def _is_over(self) -> bool:
        if not self._working:
            return True
        now = time.monotonic()
        if any(each.has_gathered for each in self._working.values()):
            return now - self._began >= max(self._asked.seconds, self._asked.gather_s)
        if now - self._began >= self._asked.seconds:
            return True
        return now - self._moved >= _IDLE_S and all(each.is_at_end for each in self._working.values())

    def _write(self, consumer: Consumer, place: Place, writing: PartitionWriting) -> None:
        try:
            written = writing.write(self._dead)
        except Unavailable as problem:
            self._leave(consumer, place, writing, problem)
            return
        assert written is not None, "the writer is opened once in a round"
        if written.records or written.dead:
            self._answer.records += written.records
            self._answer.dead += written.dead
            self._moved = time.monotonic()

    def _finish(self, consumer: Consumer, place: Place, writing: PartitionWriting) -> None:
        try:
            writing.finish(self._dead)
        except Unavailable as problem:
            self._leave(consumer, place, writing, problem)

    def _leave(self, consumer: Consumer, place: Place, writing: PartitionWriting, problem: Unavailable) -> None:
        writing.failed(problem)
        del self._working[place]
        try:
            consumer.pause([TopicPartition(*place)])
        except KafkaException as error:
            log.debug("%s", error)  # what still comes of it is dropped
