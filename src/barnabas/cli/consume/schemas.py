"""`consume --registry`: keys and values that say which schema they have, as JSON.

What says nothing of a schema is left as it is. So is what cannot be read, with a warning for the first one: one bad
record must not end the reading of a topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import warn
from barnabas.cli.common.registry import connected
from barnabas.client.common.rdkafka import RawHeaders
from barnabas.client.errors import CannotReach, NotAllowed
from barnabas.client.serde.registry import framing
from barnabas.client.serde.registry.plain import plain_reader
from barnabas.client.serde.serializers import Part

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from barnabas.client.common.rdkafka import RawMessage
    from barnabas.client.serde.registry.serializer import SchemaSerializer


class Decoded:
    """A record whose key and value may be JSON texts now."""

    __slots__ = ("_key", "_raw", "_value", "decoded")

    def __init__(self, raw: RawMessage, key: bytes | None, value: bytes | None, decoded: frozenset[Part]) -> None:
        self._raw, self._key, self._value = raw, key, value
        self.decoded = decoded  # which of the two are JSON

    def key(self) -> bytes | None:
        return self._key

    def value(self) -> bytes | None:
        return self._value

    def topic(self) -> str:
        return self._raw.topic()

    def partition(self) -> int:
        return self._raw.partition()

    def offset(self) -> int:
        return self._raw.offset()

    def headers(self) -> RawHeaders | None:
        return self._raw.headers()

    def timestamp(self) -> tuple[int, int]:
        return self._raw.timestamp()

    def error(self) -> KafkaError | None:
        return self._raw.error()


def decoded(batches: Iterator[list[RawMessage]], url: str) -> Iterator[list[RawMessage]]:
    with connected(url) as registry:
        decoding = _Decoding(plain_reader(registry))
        for batch in batches:
            yield [decoding.of(each) for each in batch]


class _Decoding:
    def __init__(self, reader: SchemaSerializer) -> None:
        self._reader = reader
        self._warned = False

    def of(self, raw: RawMessage) -> Decoded:
        headers = raw.headers()
        key, key_is_json = self._part(raw, raw.key(), "key", headers)
        value, value_is_json = self._part(raw, raw.value(), "value", headers)
        found: list[Part] = ["key"] if key_is_json else []
        if value_is_json:
            found.append("value")
        return Decoded(raw, key, value, frozenset(found))

    def _part(
        self, raw: RawMessage, data: bytes | None, part: Part, headers: RawHeaders | None
    ) -> tuple[bytes | None, bool]:
        if data is None or not framing.is_framed(data, headers, part):
            return data, False
        try:
            found: bytes = self._reader.decode(data, raw.topic(), part, headers)
        except (CannotReach, NotAllowed):
            raise
        except Exception as error:  # fastavro and protobuf raise many kinds for bytes that do not fit
            if not self._warned:
                self._warned = True
                place = f"{raw.topic()}-{raw.partition()} at offset {raw.offset()}"
                warn(f"{place}: the {part} is shown as it is: {error or type(error).__name__}")
            return data, False
        return found, True
