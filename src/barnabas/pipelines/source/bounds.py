"""Where reading starts and ends, as the options say it: by word, by offset, or by time.

The JSON of Spark's Kafka connector: {"topic": {"0": 23, "1": -2}} with -2 for the earliest and -1 for the latest
offset, and the same shape with milliseconds for times. Refuses anything else in one line that names the option.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.errors import PipelineError

EARLIEST = -2
LATEST = -1
Place = tuple[str, int]  # topic and partition
Offsets = dict[Place, int]


@dataclass(frozen=True)
class Bound:
    """One of three: `word` (EARLIEST or LATEST), `offsets`, or times (`timestamp` for all, `timestamps` for each)."""

    word: int | None = None
    offsets: Offsets = field(default_factory=dict)
    timestamp: int | None = None
    timestamps: Offsets = field(default_factory=dict)
    option: str = field(default="", compare=False)  # that said it, for messages

    @property
    def by_time(self) -> bool:
        return self.timestamp is not None or bool(self.timestamps)


def parse_offsets(text: str, option: str) -> Bound:
    """`earliest`, `latest`, or the JSON of offsets."""
    word = text.strip().lower()
    if word == "earliest":
        return Bound(word=EARLIEST)
    if word == "latest":
        return Bound(word=LATEST)
    if word.isalpha():
        raise PipelineError(f'{option} is earliest, latest, or JSON such as {{"orders": {{"0": 23}}}}, not {text!r}')
    return Bound(offsets=_parse_places(text, option, "an offset", lowest=EARLIEST))


def parse_timestamp(text: str, option: str) -> Bound:
    try:
        value = int(text.strip())
    except ValueError:
        raise PipelineError(f"{option} is a time in milliseconds since 1970, not {text!r}") from None
    if value < 0:
        raise PipelineError(f"{option} is a time in milliseconds since 1970, not {value}")
    return Bound(timestamp=value, option=option)


def parse_timestamps(text: str, option: str) -> Bound:
    return Bound(timestamps=_parse_places(text, option, "a time in milliseconds", lowest=0), option=option)


def parse_assign(text: str, option: str) -> list[Place]:
    """{"topic": [0, 1]}: the partitions to read, and no others."""
    found = _load(text, option)
    places: list[Place] = []
    for topic, partitions in found.items():
        if not isinstance(partitions, list) or not all(type(each) is int and each >= 0 for each in partitions):
            raise PipelineError(f'{option} is JSON such as {{"orders": [0, 1]}}, not {text!r}')
        places += [(topic, each) for each in partitions]
    if not places:
        raise PipelineError(f"{option} names no partition")
    return sorted(set(places))


def offsets_from_json(offset: JsonObject) -> Offsets:
    """What Spark keeps in a checkpoint; the JSON of the Kafka connector, so that a query can change its source."""
    return {(topic, int(part)): int(value) for topic, parts in offset.items() for part, value in parts.items()}


def offsets_to_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def _parse_places(text: str, option: str, what: str, lowest: int) -> Offsets:
    found = _load(text, option)
    places: Offsets = {}
    for topic, partitions in found.items():
        if not isinstance(partitions, dict):
            raise PipelineError(f'{option} is JSON such as {{"orders": {{"0": 23}}}}, not {text!r}')
        for partition, value in partitions.items():
            if not partition.isdigit() or type(value) is not int or value < lowest:
                raise PipelineError(f"{option}: {topic!r} has {partition!r}: {value!r} where {what} is wanted")
            places[topic, int(partition)] = value
    if not places:
        raise PipelineError(f"{option} names no partition")
    return places


def _load(text: str, option: str) -> JsonObject:
    try:
        found = json.loads(text)
    except ValueError:
        raise PipelineError(f"{option} is not JSON: {text!r}") from None
    if not isinstance(found, dict):
        raise PipelineError(f"{option} is a JSON object by topic, not {text!r}")
    return found
