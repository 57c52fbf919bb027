"""Serializers that know the record: one way for producers and consumers where a key or a value has such a one.

Plain serializers (a function of the value) never come here: a producer or consumer that has only those does not pay
for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from barnabas.client.common.rdkafka import RawMessage
from barnabas.client.serde.serializers import (
    DeserializerLike,
    Encoded,
    Part,
    RecordHeaders,
    RecordSerializer,
    SerializerLike,
    Value,
    decoder,
    encoder,
)

OutgoingHeaders = Mapping[str, bytes | str | None] | Sequence[tuple[str, bytes | str | None]]


class RecordEncoder:
    """Keys and values of a producer, at least one of them by a RecordSerializer."""

    def __init__(self, key: SerializerLike, value: SerializerLike) -> None:
        self._key, self._value = _encoding(key, "key"), _encoding(value, "value")
        self._asking: list[tuple[int, Part, RecordSerializer]] = []
        if isinstance(value, RecordSerializer):
            self._asking.append((0, "value", value))
        if isinstance(key, RecordSerializer):
            self._asking.append((1, "key", key))

    def encode(
        self, topic: str, value: Value, key: Value, headers: OutgoingHeaders | None
    ) -> tuple[Value, Value, OutgoingHeaders | None]:
        """The bytes of both, and the headers with what the serializers add."""
        if value is not None:
            value, header = self._value(value, topic)
            if header is not None:
                headers = _with(headers, header)
        if key is not None:
            key, header = self._key(key, topic)
            if header is not None:
                headers = _with(headers, header)
        return value, key, headers

    def is_ready(self, topic: str, value: Value, key: Value) -> bool:
        """Whether `encode` needs no request."""
        given = (value, key)
        return all(
            given[place] is None or each.is_ready(given[place], topic, part) for place, part, each in self._asking
        )


def record_encoder(key: SerializerLike, value: SerializerLike) -> RecordEncoder | None:
    """None where plain functions do."""
    if isinstance(key, RecordSerializer) or isinstance(value, RecordSerializer):
        return RecordEncoder(key, value)
    return None


def _encoding(given: SerializerLike, part: Part) -> Callable[[Value, str], Encoded]:
    if isinstance(given, RecordSerializer):
        encode = given.encode
        return lambda value, topic: encode(value, topic, part)
    plain = encoder(given)
    if plain is None:
        return lambda value, _: (value, None)
    return lambda value, _: (plain(value), None)


def _with(headers: OutgoingHeaders | None, header: tuple[str, bytes]) -> OutgoingHeaders:
    """Without an earlier one of that name: a record that is sent again has a new schema."""
    listed = [] if headers is None else list(headers.items() if isinstance(headers, Mapping) else headers)
    return [each for each in listed if each[0] != header[0]] + [header]


Decode = Callable[[bytes, RawMessage, RecordHeaders | None], Value]


class RecordDecoder:
    """Keys and values of a consumer, at least one of them by a RecordSerializer."""

    def __init__(self, key: DeserializerLike, value: DeserializerLike) -> None:
        self.key, self.value = _decoding(key, "key"), _decoding(value, "value")
        self._by_record: list[tuple[Part, RecordSerializer]] = []
        if isinstance(value, RecordSerializer):
            self._by_record.append(("value", value))
        if isinstance(key, RecordSerializer):
            self._by_record.append(("key", key))

    def prepare(self, batch: Iterable[RawMessage]) -> None:
        """Asks for the schemas of these records, so that no request is made when they are handed out."""
        for raw in batch:
            for part, each in self._by_record:
                data = raw.value() if part == "value" else raw.key()
                if data is not None:
                    each.prepare(data, raw.topic(), part, raw.headers())


def record_decoder(key: DeserializerLike, value: DeserializerLike) -> RecordDecoder | None:
    if isinstance(key, RecordSerializer) or isinstance(value, RecordSerializer):
        return RecordDecoder(key, value)
    return None


def _decoding(given: DeserializerLike, part: Part) -> Decode:
    if isinstance(given, RecordSerializer):
        decode = given.decode
        return lambda data, raw, headers: decode(data, raw.topic(), part, headers)
    plain = decoder(given)
    if plain is None:
        return lambda data, _, __: data
    return lambda data, _, __: plain(data)
