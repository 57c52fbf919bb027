"""Messages of a topic to what a sink gets: decoded and transformed, and what cannot be as a dead letter."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Message

from barnabas.connect.contract import Delivered, Headers, Record
from barnabas.connect.definition.definition import Definition
from barnabas.connect.runtime.dead_letters import OFFSET, PARTITION, TOPIC, DeadLetter, Stage
from barnabas.connect.shapes import Shapes
from barnabas.connect.transform.shape_changes import changes_keys, shape_change
from barnabas.connect.transform.steps import compiled
from barnabas.connect.values.formats import BadValue, decoder


class Decoding:
    """Shared by the partitions of a task."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self._redrive_topic = definition.redrive_topic
        steps = definition.transform
        self.shapes = Shapes(shape_change(steps), changes_keys(steps))
        self._key = decoder(definition.format, "key", self.shapes)
        self._value = decoder(definition.format, "value", self.shapes)
        self._transform = compiled(definition.transform)

    def decoded(
        self, topic: str, partition: int, messages: Sequence[Message]
    ) -> tuple[list[Delivered], list[DeadLetter]]:
        """All of one partition; what a filter leaves out is in neither list. Raises Unavailable when a registry does
        not answer."""
        records: list[Delivered] = []
        letters: list[DeadLetter] = []
        is_redriven = topic == self._redrive_topic
        add, transform, key_of, value_of = records.append, self._transform, self._key, self._value
        for message in messages:  # the hot path: a call less here is worth more than a function that reads well
            offset = message.offset()
            assert offset is not None
            headers = _headers(message)
            redriven_at = None
            if is_redriven:
                redriven_at = offset
                topic, partition, offset = self._original(message)
            stage: Stage = "KEY_CONVERTER"
            try:
                key = key_of(message.key(), topic, headers)
                stage = "VALUE_CONVERTER"
                value = value_of(message.value(), topic, headers)
                made = Delivered(topic, partition, offset, message.timestamp()[1], key, value, headers, redriven_at)
                if transform is not None:
                    stage = "TRANSFORMATION"
                    if not self._changed(made):
                        continue
                add(made)
            except BadValue as problem:
                letters.append(self.dead_letter(message, stage, str(problem)))
        return records, letters

    def _changed(self, made: Delivered) -> bool:
        assert self._transform is not None
        record = Record(made.value, made.key, made.topic, made.timestamp_ms, made.headers, made.partition)
        if not self._transform(record):
            return False
        made.read_from = made.topic
        made.key, made.value, made.headers = record.key, record.value, record.headers
        made.topic = record.topic or made.topic
        made.timestamp_ms = made.timestamp_ms if record.timestamp_ms is None else record.timestamp_ms
        return True

    def _original(self, message: Message) -> tuple[str, int, int]:
        """Topic, partition and offset that the record had at first."""
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None and partition is not None and offset is not None
        if topic != self._redrive_topic:
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


def _headers(message: Message) -> Headers:
    # librdkafka gives a list of names and bytes, whatever its types allow for what is produced
    found: Headers = message.headers() or ()  # type: ignore[assignment]
    return found
