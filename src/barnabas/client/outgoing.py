"""A record on its way out: its headers in librdkafka's form, and why it could not be taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from barnabas.client.errors import BarnabasError, Closed, Refused, SerializationError, translate
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.client.transactions import Transactions

Headers = Mapping[str, bytes | str | None] | Sequence[tuple[str, bytes | str | None]]


def listed(headers: Headers) -> list[tuple[str, bytes | str | None]]:
    return list(headers.items() if isinstance(headers, Mapping) else headers)


def refusal(
    error: Exception,
    topic: str,
    value: Any,
    key: Any,
    address: str,
    max_bytes: int,
    transactions: Transactions | None = None,
) -> BarnabasError:
    """librdkafka's no in words: most often a value that is neither bytes nor text, and no serializer to make it so."""
    doing = f"send to {topic!r}"
    if isinstance(error, KafkaException):
        why = None if transactions is None else transactions.refusal(error.args[0], doing)
        if why is None and error.args[0].code() == ErrorCode.MESSAGE_TOO_LARGE:
            return _too_large(doing, topic, value, key, max_bytes)
        return why or translate(error, doing, address)
    for name, part in (("value", value), ("key", key)):
        if part is not None and not isinstance(part, (bytes, str)):
            kind = type(part).__name__
            return SerializationError(
                f'{doing}: a {name} of type {kind} needs a serializer, for example {name}_serializer="json"'
            )
    return SerializationError(f"{doing}: {error}")


def _too_large(doing: str, topic: str, value: Any, key: Any, max_bytes: int) -> Refused:
    size = sum(len(each.encode() if isinstance(each, str) else each) for each in (value, key) if each is not None)
    return Refused(
        f"{doing}: the record has {size:,} bytes and this producer sends at most {max_bytes:,} (message_max_bytes). "
        f"Raise it, Producer(message_max_bytes={2 * size}), and the topic's limit, "
        f"barnabas config set topic {topic} max.message.bytes={2 * size}; or send less and store the rest elsewhere",
        ErrorCode.MESSAGE_TOO_LARGE,
    )


def refuse_closed(*_: Any) -> None:
    raise Closed("this producer is closed")


def refuse_outside(*_: Any) -> None:
    raise BarnabasError("this producer sends in transactions only: with producer.transaction(): producer.send(...)")
