"""One partition on its way to a target: decoded, transformed, written, and where it stands."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import Message

from barnabas.connect.contract import Delivered, Rejected, Sink, Writer
from barnabas.connect.errors import ConnectError, Refused, Unavailable
from barnabas.connect.runtime.decoding import Decoding
from barnabas.connect.runtime.pauses import Pauses

if TYPE_CHECKING:
    from barnabas.connect.runtime.dead_letter_writer import DeadLetterWriter

log = logging.getLogger("barnabas.connect")


@dataclass(frozen=True)
class Written:
    records: int = 0
    dead: int = 0


class Stopped(ConnectError):
    """A bad record, and the definition says errors: stop."""


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
        self.waits = False
        self._failed_at = -1  # what was durable then

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
        self._note_durable(self._writer.flush(bool(self.problem)))  # at once, to see whether it is over
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
        records, letters = self._decoding.decoded(self._topic, self._partition, messages)
        rejected = self._send(records, next_offset)
        if rejected:
            found = {_offset(message): message for message in messages}
            letters += [
                self._decoding.dead_letter(found[each.record.place], "TASK_PUT", each.reason) for each in rejected
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
        self.waits, self._failed_at = True, self.durable
        self.close()
        return self.pauses.failed()

    def _succeeded(self) -> None:
        """A writer that gathers takes records while its target takes none: what was wrong is over when something is in
        the target for good. Until then it is shown, and the pauses grow."""
        self.waits = False
        if not self._gathers or self.durable > self._failed_at or 0 <= self._end <= self.durable:
            self.problem = ""
            self.pauses.succeeded()

    def close(self) -> None:
        if self._writer is not None:
            writer, self._writer = self._writer, None
            try:
                writer.close()
            except (ConnectError, OSError) as problem:
                log.debug("closing a writer: %s", problem)


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
