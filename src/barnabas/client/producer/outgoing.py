"""A record on its way out: its headers in librdkafka's form, and why it could not be taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from barnabas.client.errors import (
    BadSetting,
    BarnabasError,
    CannotReach,
    Closed,
    NotAllowed,
    Refused,
    RegistryError,
    SerializationError,
    UnknownTopic,
    translate,
)
from barnabas.client.producer.delivery import UNKNOWN_PARTITION, no_partition
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.client.transactions.librdkafka import Transactions

Headers = Mapping[str, bytes | str | None] | Sequence[tuple[str, bytes | str | None]]


def listed(headers: Headers) -> list[tuple[str, bytes | str | None]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def refusal(
    error: Exception,
    topic: str,
    value: object,
    key: object,
    address: str,
    max_bytes: int,
    transactions: Transactions | None = None,
    partition: int = -1,
    timestamp_ms: int | None = None,
) -> BarnabasError:
    """librdkafka's no in words: most often a value that is neither bytes nor text, and no serializer to make it so."""
    doing = f"send to {topic!r}"
    if isinstance(error, KafkaException):
        why = None if transactions is None else transactions.refusal(error.args[0], doing)
        if why is None and error.args[0].code() == ErrorCode.MESSAGE_TOO_LARGE:
            return _too_large(doing, topic, value, key, max_bytes)
        if why is None and error.args[0].code() == UNKNOWN_PARTITION:
            return UnknownTopic(no_partition(doing, topic, partition), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return why or translate(error, doing, address)
    if not isinstance(topic, str):
        return BadSetting(f"{doing}: a topic's name is text")
    for name, part in (("value", value), ("key", key)):
        if part is not None and not isinstance(part, (bytes, str)):
            kind = type(part).__name__
            if isinstance(part, (bytearray, memoryview)):
                return SerializationError(f"{doing}: the {name} is a {kind}: send bytes(...) of it")
            return SerializationError(
                f'{doing}: a {name} of type {kind} needs a serializer, for example {name}_serializer="json"'
            )
    for name, number in (("partition", partition), ("timestamp_ms", timestamp_ms)):
        if number is not None and not isinstance(number, int):
            return BadSetting(f"{doing}: {name} is a whole number, not {number!r}")
    return SerializationError(f"{doing}: {error}")


def _too_large(doing: str, topic: str, value: object, key: object, max_bytes: int) -> Refused:
    parts = (each.encode() if isinstance(each, str) else each for each in (value, key))
    size = sum(len(each) for each in parts if isinstance(each, bytes))
    return Refused(
        f"{doing}: the record has {size:,} bytes and this producer sends at most {max_bytes:,} (message_max_bytes). "
        f"Raise it, Producer(message_max_bytes={2 * size}), and the topic's limit, "
        f"barnabas config set topic {topic} max.message.bytes={2 * size}; or send less and store the rest elsewhere",
        ErrorCode.MESSAGE_TOO_LARGE,
    )


def several(values: Iterable[object]) -> Iterable[object]:
    """The values of send_many. A text or bytes would go out letter by letter."""
    if isinstance(values, (str, bytes, bytearray)):
        raise BadSetting(f"send_many takes a list or a generator of values, not one {type(values).__name__}: use send")
    return values


def not_encoded(topic: str, error: Exception) -> BarnabasError:
    """The text of a KeyError is only the key, and some errors have none: then their kind says more. What a registry
    said, or that it does not answer, is not about the value."""
    if isinstance(error, (RegistryError, CannotReach, NotAllowed)):
        return error
    reason = str(error) if str(error) and not isinstance(error, LookupError) else f"{type(error).__name__}: {error}"
    return SerializationError(f"send to {topic!r}: {reason.removesuffix(': ')}")


def refuse_closed(*_: object) -> None:
    raise Closed("this producer is closed")


def refuse_outside(*_: object) -> None:
    raise BarnabasError("this producer sends in transactions only: with producer.transaction(): producer.send(...)")
