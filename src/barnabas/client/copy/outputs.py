"""What a function of `barnabas.copy` may give back, and the records that become of it.

Whatever an output does not say for itself it takes from the message it was made of: the key, the headers and the time,
so that records of one key stay in order and a trace goes on. Only `Output` has headers of its own, and a topic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from barnabas.client.consumer.message import Message
from barnabas.client.errors import BadSetting
from barnabas.client.producer.outgoing import Headers
from barnabas.client.serde.serializers import Value


@dataclass(frozen=True, slots=True)
class Output:
    """One record to write. Without a topic it goes where the copy goes; without a time it has its message's."""

    topic: str | None = None
    key: Value = None
    value: Value = None
    headers: Headers | None = None
    partition: int | None = None
    timestamp_ms: int | None = None


def outputs_of(result: object, message: Message, to: str | None) -> Iterator[Output]:
    """The records of one message, in order. None is no output; a tombstone is `(key, None)`."""
    if isinstance(result, (list, Iterator)):
        for each in result:
            yield from outputs_of(each, message, to)
    elif result is not None:
        yield _output(result, message, to)


def _output(result: object, message: Message, to: str | None) -> Output:
    time_ms = message.timestamp_ms if message.timestamp_ms >= 0 else None
    if isinstance(result, Output):
        if result.topic is not None and result.timestamp_ms is not None:
            return result
        stated_ms = result.timestamp_ms
        return replace(result, topic=result.topic or to, timestamp_ms=time_ms if stated_ms is None else stated_ms)
    if isinstance(result, Message):
        return Output(to, result.key, result.value, result.headers, None, time_ms)
    if isinstance(result, tuple):
        if len(result) != 2:
            raise BadSetting(f"copy: a tuple is (key, value), not {len(result)} things; use Output for more")
        return Output(to, result[0], result[1], message.headers, None, time_ms)
    return Output(to, message.key, result, message.headers, None, time_ms)
