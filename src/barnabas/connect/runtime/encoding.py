"""A source's records to bytes for a topic: transformed, encoded, and what cannot be as a dead letter."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.connect.contract import Alike, Headers, Record
from barnabas.connect.definition.definition import Definition
from barnabas.connect.runtime.dead_letters import DeadLetter, Stage
from barnabas.connect.transform.steps import compiled
from barnabas.connect.values.formats import BadValue, encode_json, encoder

_SHOWN_MAX = 100_000  # bytes of a value that cannot be encoded, in its dead letter


class Outgoing(NamedTuple):
    topic: str
    key: bytes | None
    value: bytes | None
    partition: int | None = None  # None: by key
    timestamp_ms: int | None = None  # None: when it is written
    headers: Headers = ()
    is_dead: bool = False


class Encoding:
    def __init__(self, cluster: Cluster, definition: Definition, task: int) -> None:
        self._cluster = cluster
        self._definition = definition
        self._task = task
        self._key = encoder(definition.format, "key")
        self._value = encoder(definition.format, "value")
        self._keeps_bytes = definition.format.value in ("auto", "text", "bytes")
        self._keeps_keys = definition.format.key in ("auto", "text", "bytes")
        self._transform = compiled(definition.transform)
        self._known: set[str] = {definition.dead_topic}

    def outgoing(self, record: Record) -> Outgoing | None:
        """None where a filter leaves it out."""
        stage: Stage = "TRANSFORMATION"
        original = (record.key, record.value)
        record.topic = record.topic or self._definition.topic
        try:
            if self._transform is not None and not self._transform(record):
                return None
            topic = record.topic or self._definition.topic
            stage = "KEY_CONVERTER"
            key = self._key(record.key, topic)
            stage = "VALUE_CONVERTER"
            value = self._value(record.value, topic)
        except BadValue as problem:
            if self._definition.errors == "stop":
                from barnabas.connect.runtime.partition_writing import Stopped

                raise Stopped(str(problem)) from None
            return self._dead(record, original, stage, str(problem))
        if topic not in self._known:
            self._ensure(topic)
        return Outgoing(topic, key, value, record.partition, record.timestamp_ms, record.headers)

    @property
    def keeps_records(self) -> bool:
        """Whether bytes go out as they came, without a step that looks at them."""
        return self._transform is None and self._keeps_bytes and self._keeps_keys

    def common(self, records: Alike) -> tuple[str, bytes | None] | None:
        """The topic and the key of all of them, where their values go out as they are; None: each has to be looked
        at."""
        if self._transform is not None or not self._keeps_bytes:
            return None
        topic = self._definition.topic
        try:
            key = self._key(records.key, topic)
        except BadValue:
            return None
        if topic not in self._known:
            self._ensure(topic)
        return topic, key

    def _ensure(self, topic: str) -> None:
        self._cluster.ensure_topics([new_topic(topic, self._definition.partitions)])
        self._known.add(topic)

    def _dead(self, record: Record, original: tuple[object, object], stage: Stage, reason: str) -> Outgoing:
        key, value = (_shown(each) for each in original)
        topic = record.topic or self._definition.topic
        return self._letter(topic, key, value, record.headers, record.timestamp_ms, stage, reason)

    def too_large(self, outgoing: Outgoing) -> Outgoing:
        reason = f"the record has {len(outgoing.value or b'')} bytes, more than a message may have"
        value = (outgoing.value or b"")[:_SHOWN_MAX]
        return self._letter(
            outgoing.topic, outgoing.key, value, outgoing.headers, outgoing.timestamp_ms, "PRODUCE", reason
        )

    def _letter(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers,
        timestamp_ms: int | None,
        stage: Stage,
        reason: str,
    ) -> Outgoing:
        letter = DeadLetter(topic, -1, -1, key, value, headers, timestamp_ms, stage, reason)
        return Outgoing(
            self._definition.dead_topic,
            key,
            value,
            None,
            timestamp_ms,
            letter.all_headers(self._definition, self._task),
            is_dead=True,
        )


def _shown(value: object) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    try:
        return encode_json(value)
    except BadValue:
        return repr(value)[:_SHOWN_MAX].encode("utf-8", "replace")
