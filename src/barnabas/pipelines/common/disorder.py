"""How events really arrive: a little out of order, some of them late, a few far too late, a few twice.

A generator tells what happened, in the order in which it happened. `as_they_arrive` turns that into what a topic sees:
each event has a small delay of the network; some were held up (a phone in a tunnel, a gateway that lost its link), and
some are sent again because an acknowledgement was lost. A record's timestamp is the moment at which it was sent, as
with any producer; its event time is inside the value. So the log itself says how late an event was.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.framework.records import Record


@dataclass(frozen=True, slots=True)
class Happening:
    """One event at the moment it happens: its time, and the record that will tell of it."""

    time_ms: int
    topic: str
    key: str
    value: JsonObject


@dataclass(frozen=True, slots=True)
class Disorder:
    """Shares of all events, and how long they may be held up."""

    network_ms: int = 40  # the usual delay, on the average
    late: float = 0.02
    late_ms: int = 8_000  # at most, and still in time to count
    too_late: float = 0.002
    too_late_ms: int = 60_000  # at most; the least is `late_ms` and one second
    twice: float = 0.01


def as_they_arrive(happenings: Iterable[Happening], disorder: Disorder, chance: Random) -> Iterator[Record]:
    """The same events as records, in the order of their arrival. Works on an endless stream and keeps only what is
    still under way."""
    under_way: list[tuple[int, int, Record]] = []
    count = 0
    for happening in happenings:
        while under_way and under_way[0][0] <= happening.time_ms:
            yield heapq.heappop(under_way)[2]
        for arrival_ms in _arrivals(happening.time_ms, disorder, chance):
            record = Record(happening.topic, happening.key, happening.value, arrival_ms)
            heapq.heappush(under_way, (arrival_ms, count, record))
            count += 1
    while under_way:
        yield heapq.heappop(under_way)[2]


def _arrivals(time_ms: int, disorder: Disorder, chance: Random) -> list[int]:
    draw = chance.random()
    if draw < disorder.too_late:
        delay = chance.randint(disorder.late_ms + 1_000, disorder.too_late_ms)
    elif draw < disorder.too_late + disorder.late:
        delay = chance.randint(disorder.network_ms, disorder.late_ms)
    elif disorder.network_ms:
        delay = min(int(chance.expovariate(1 / disorder.network_ms)), disorder.late_ms)
    else:
        delay = 0
    arrivals = [time_ms + delay]
    if chance.random() < disorder.twice:
        arrivals.append(time_ms + delay + chance.randint(1, max(1, disorder.late_ms)))
    return arrivals


def iso(time_ms: int) -> str:
    """A time as JSON carries it: ISO 8601 in UTC, to the millisecond."""
    moment = datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{moment}.{time_ms % 1000:03d}Z"


def millis(text: str) -> int:
    """Back from `iso`, and from any ISO 8601 time; one without a zone is UTC."""
    moment = datetime.fromisoformat(text)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole = int(moment.replace(microsecond=0).timestamp())
    return whole * 1000 + moment.microsecond // 1000
