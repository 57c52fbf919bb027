"""One partition on its way to a target: decoded, transformed, written, and where it stands."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Message

from barnabas.connect.contract import Delivered, Headers, Record, Rejected, Sink, Writer
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import ConnectError, Refused, Unavailable
from barnabas.connect.runtime.dead_letters import OFFSET, PARTITION, TOPIC, DeadLetter, Stage
from barnabas.connect.runtime.pauses import Pauses
from barnabas.connect.transform.steps import compiled
from barnabas.connect.values.formats import BadValue, decoder

if TYPE_CHECKING:
    from barnabas.connect.runtime.dead_letter_writer import DeadLetterWriter

log = logging.getLogger("barnabas.connect")


@dataclass(frozen=True)
class Written:
    records: int = 0
    dead: int = 0


class Stopped(ConnectError):
    """A bad record, and the definition says errors: stop."""


class Decoding:
    """Messages to what a sink gets. Shared by the partitions of a task."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._key = decoder(definition.format, "key")
        self._value = decoder(definition.format, "value")
        self._transform = compiled(definition.transform)

    def delivered(self, message: Message) -> Delivered | DeadLetter | None:
        """None: a filter has left it out. Raises Unavailable when a registry does not answer."""
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None and partition is not None and offset is not None
        headers = _headers(message)
        redriven_at = offset if topic == self.definition.redrive_topic else None
        origin, partition, offset = self._original(message)
        topic = origin
        stage: Stage = "KEY_CONVERTER"
        try:
            key = self._key(message.key(), topic, headers)
            stage = "VALUE_CONVERTER"
            value = self._value(message.value(), topic, headers)
            timestamp_ms = message.timestamp()[1]
            if self._transform is not None:
                stage = "TRANSFORMATION"
                record = Record(value, key, topic, timestamp_ms, headers, partition)
                if not self._transform(record):
                    return None
                key, value, topic = record.key, record.value, record.topic or topic
                timestamp_ms, headers = record.timestamp_ms or timestamp_ms, record.headers
        except BadValue as problem:
            return self.dead_letter(message, stage, str(problem))
        return Delivered(topic, partition, offset, timestamp_ms, key, value, headers, redriven_at, origin)

    def _original(self, message: Message) -> tuple[str, int, int]:
        """Topic, partition and offset that the record had at first."""
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None and partition is not None and offset is not None
        if topic != self.definition.redrive_topic:
            return topic, partition, offset
        told = dict(_headers(message))
        try:
            return (told[TOPIC] or b"").decode(), int(told[PARTITION] or b""), int(told[OFFSET] or b"")
        except (KeyError, ValueError):
            return topic, partition, offset  # somebody has written to the topic by hand

    def dead_letter(self, message: Message, stage: Stage, reason: str) -> DeadLetter:
        key = message.key()
        assert key is None or isinstance(key, bytes)
        time_ms = message.timestamp()[1]
        return DeadLetter(*self._original(message), key, message.value(), _headers(message), time_ms, stage, reason)


class PartitionWriting:
    def __init__(self, sink: Sink, topic: str, partition: int, decoding: Decoding) -> None:
        self._sink = sink
        self._topic = topic
        self._partition = partition
        self._decoding = decoding
        self._writer: Writer | None = None
        self._messages: list[Message] = []  # not written yet
        self._end = -1  # of the partition, when everything was read
        self._flush_at = 0.0
        self._gathers = False
        self.next_offset = -1  # after what was written
        self.durable = -1  # everything before it is in the target for good
        self.last_ms = 0  # time of the newest record that was written
        self.pauses = Pauses()
        self.problem = ""

    @property
    def waits(self) -> bool:
        return bool(self.problem)

    @property
    def is_due(self) -> bool:
        if self.waits:
            return self.pauses.is_over
        return bool(self._messages) or self._end > self.durable or time.monotonic() >= self._flush_at

    @property
    def is_at_end(self) -> bool:
        """Everything that the partition has was taken and written."""
        return self._end >= 0 and not self._messages

    @property
    def has_gathered(self) -> bool:
        """The writer holds records that are not in the target yet."""
        return self._gathers and self.durable < self.next_offset

    def open(self) -> int | None:
        """The offset at which to read on, where the target knows it."""
        self._writer = self._sink.open(self._topic, self._partition)
        found = self._writer.next_offset()
        if found is not None:
            self.next_offset = self.durable = found
        return found

    def take(self, messages: list[Message]) -> None:
        self._messages += messages
        self._end = -1

    def reached_end(self, offset: int) -> None:
        self._end = offset

    def write(self, dead: DeadLetterWriter) -> Written | None:
        """Everything that has been taken. None: the target stands elsewhere than where we are; read on from
        `next_offset`. Raises Unavailable, and then keeps what was not written."""
        if self._writer is None and self._is_elsewhere(self.open()):
            self._messages.clear()
            self._end = -1
            self._succeeded()
            return None
        assert self._writer is not None
        written = self._write_messages(dead) if self._messages else Written()
        self._note_durable(self._writer.flush(False))
        self._flush_at = time.monotonic() + 1.0
        self._succeeded()
        return written

    def _is_elsewhere(self, target: int | None) -> bool:
        """After an outage. What the target has already is dropped; where it lacks something, that is read again."""
        if target is None and self._gathers and self.durable >= 0:
            target = self.next_offset = self.durable  # what had gathered went with the writer
        if target is None:
            return False
        while self._messages and _offset(self._messages[0]) < target:
            self._messages.pop(0)
        return bool(self._messages and _offset(self._messages[0]) > target) or not self._messages

    def _write_messages(self, dead: DeadLetterWriter) -> Written:
        assert self._writer is not None
        messages = self._messages
        next_offset = _offset(messages[-1]) + 1
        letters: list[DeadLetter] = []
        records: list[Delivered] = []
        by_place: dict[int, Message] = {}
        for message in messages:
            found = self._decoding.delivered(message)
            if isinstance(found, DeadLetter):
                letters.append(found)
            elif found is not None:
                records.append(found)
                by_place[found.place] = message
        rejected = self._send(records, next_offset)
        letters += [
            self._decoding.dead_letter(by_place[each.record.place], "TASK_PUT", each.reason) for each in rejected
        ]
        if letters:
            if self._decoding.definition.errors == "stop":
                raise Stopped(f"{letters[0].topic}-{letters[0].partition} at {letters[0].offset}: {letters[0].reason}")
            dead.write(letters)
        self.next_offset = next_offset
        self.last_ms = messages[-1].timestamp()[1]
        self._messages = []
        return Written(len(records) - len(rejected), len(letters))

    def _send(self, records: Sequence[Delivered], next_offset: int) -> list[Rejected]:
        """With the bad ones found, where the target says only that there are some."""
        assert self._writer is not None
        try:
            return list(self._writer.write(records, next_offset))
        except Refused as problem:
            if problem.records:
                bad = set(problem.records)
                rejected = [Rejected(records[each], problem.message) for each in sorted(bad)]
                good = [each for number, each in enumerate(records) if number not in bad]
                return rejected + (self._send(good, next_offset) if good else [])
            if len(records) <= 1:
                self._writer.write([], next_offset)
                return [Rejected(each, problem.message) for each in records]
            half = len(records) // 2
            return self._send(records[:half], records[half].place) + self._send(records[half:], next_offset)

    def _note_durable(self, flushed: int | None) -> None:
        if flushed is None:
            self.durable = max(self.durable, self.next_offset)
        else:
            self._gathers = True
            self.durable = max(self.durable, flushed)
        if self._end > self.durable >= self.next_offset and not self._messages:
            self.durable = self._end  # markers of transactions stand between the last record and the end

    def finish(self, dead: DeadLetterWriter) -> None:
        """Before the partition is given away."""
        if self.waits or self._writer is None:
            return
        if self._messages:
            self._write_messages(dead)
        self._note_durable(self._writer.flush(True))

    def failed(self, problem: Unavailable) -> float:
        """The writer is closed: a new one finds out where the target stands."""
        self.problem = str(problem)
        self.close()
        return self.pauses.failed()

    def _succeeded(self) -> None:
        self.problem = ""
        self.pauses.succeeded()

    def close(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            try:
                writer.close()
            except (ConnectError, OSError) as problem:
                log.debug("closing a writer: %s", problem)


def _headers(message: Message) -> Headers:
    # librdkafka gives a list of names and bytes, whatever its types allow for what is produced
    found: Headers = message.headers() or ()  # type: ignore[assignment]
    return found


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
