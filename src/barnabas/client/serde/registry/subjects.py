"""Under which subject a schema is registered. The names are those of Confluent's strategies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from barnabas.client.errors import BadSetting
from barnabas.client.serde.serializers import Part

SubjectStrategy = Literal["topic", "record", "topic-record"] | Callable[[str, Part, str], str]


def subject_namer(strategy: SubjectStrategy) -> Callable[[str, Part, str], str]:
    """The function (topic, part, name of the record) -> subject."""
    if callable(strategy):
        return strategy
    if strategy == "topic":
        return lambda topic, part, _: f"{topic}-{part}"
    if strategy == "record":
        return lambda _topic, _part, record: _named(record)
    if strategy == "topic-record":
        return lambda topic, _, record: f"{topic}-{_named(record)}"
    raise BadSetting(f'subject is "topic", "record", "topic-record" or a function, not {strategy!r}')


def _named(record: str) -> str:
    if not record:
        raise BadSetting('this schema has no name, so its subject cannot be named after it: use subject="topic"')
    return record
