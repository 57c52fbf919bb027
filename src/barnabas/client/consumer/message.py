"""A record as a consumer hands it out, and how one is made from librdkafka's.

Reading keys and values is where other people's mistakes arrive, so a record that cannot be read knows its place (topic,
partition, offset) and what happens to it is the consumer's choice: `on_error="raise"`, "skip", or a function that is
given the error (and may store it somewhere) before the record is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from barnabas.client.common.connection import logger
from barnabas.client.common.rdkafka import RawMessage
from barnabas.client.errors import BadSetting, CannotReach, DeserializationError, NotAllowed
from barnabas.client.serde.records import record_decoder
from barnabas.client.serde.serializers import DeserializerLike, Value, decoder

OnError = Literal["raise", "skip"] | Callable[[DeserializationError], object]


class Message(NamedTuple):
    """One record. `key` and `value` are what the deserializers made of them; None is None (a tombstone)."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: Value
    value: Value
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def time(self) -> datetime:
        """When it was written (or, with LogAppendTime, stored), in UTC."""
        return datetime.fromtimestamp(self.timestamp_ms / 1000, UTC)

    def header(self, name: str, default: bytes | None = None) -> bytes | None:
        """The last header of that name, as Kafka's clients have it."""
        for key, value in reversed(self.headers):
            if key == name:
                return value
        return default


_new = tuple.__new__  # half the cost of Message(...), and this is done for each record


class MessageMaker:
    """Turns librdkafka's message into ours; None when it was skipped."""

    def __init__(self, key_deserializer: DeserializerLike, value_deserializer: DeserializerLike, on_error: OnError):
        if on_error not in ("raise", "skip") and not callable(on_error):
            raise BadSetting(f'on_error is "raise", "skip" or a function, not {on_error!r}')
        self._by_record = record_decoder(key_deserializer, value_deserializer)
        self._decode_key = decoder(key_deserializer)
        self._decode_value = decoder(value_deserializer)
        self._on_error = on_error

    def prepare(self, batch: Iterable[RawMessage]) -> None:
        """Asks a registry for the schemas of these records, in the thread that waits for the cluster anyway."""
        if self._by_record is not None:
            self._by_record.prepare(batch)

    def make(self, raw: RawMessage) -> Message | None:
        key: Value = raw.key()
        value: Value = raw.value()
        headers = raw.headers()
        part, data = "value", value
        try:
            if self._by_record is not None:
                if value is not None:
                    value = self._by_record.value(value, raw, headers)
                if key is not None:
                    part, data = "key", key
                    key = self._by_record.key(key, raw, headers)
            else:
                if self._decode_value is not None and value is not None:
                    value = self._decode_value(value)
                if self._decode_key is not None and key is not None:
                    part, data = "key", key
                    key = self._decode_key(key)
        except (CannotReach, NotAllowed):  # a registry that does not answer: no fault of the record
            raise
        except Exception as error:  # a deserializer of the user's may raise anything
            self._unreadable(raw, part, data, error)
            return None
        return _new(
            Message,
            (
                raw.topic(),
                raw.partition(),
                raw.offset(),
                raw.timestamp()[1],
                key,
                value,
                tuple(headers) if headers else (),
            ),
        )

    def _unreadable(self, raw: RawMessage, part: str, data: bytes | None, reason: Exception) -> None:
        text = f"{type(reason).__name__}: {reason}" if str(reason) else type(reason).__name__
        error = DeserializationError(raw.topic(), raw.partition(), raw.offset(), part, text, data)
        if self._on_error == "raise":
            raise error from reason
        if callable(self._on_error):
            self._on_error(error)
        else:
            logger.warning("skipped: %s", error)
