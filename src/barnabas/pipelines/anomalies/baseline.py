"""What is normal for a sensor: the running mean and deviation, so defined that the order of arrival cannot matter.

Readings are added up in buckets of half a minute of event time: how many, their sum, the sum of their squares, in whole
thousandths, so the sums are exact and adding in another order gives the same. A reading is compared with the buckets of
ten minutes that end a little before it: `LAG_MS` before, so long that every reading in them has arrived by the time
this one is judged (later ones do not count, see `lateness`). So a reading can be judged the moment it comes, and
nothing that comes after can change the judgement. That the newest seconds are left out has a second use: a fault does
not at once become its own normal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.pipelines.common.lateness import SKEW_MS

BUCKET_MS = 30_000  # finer ones would cost the live query a row each: live.py
ALLOWED_MS = 5_000  # how late a reading may be
LAG_MS = 30_000  # at least ALLOWED_MS + SKEW_MS, in whole buckets
SPAN_MS = 600_000
LEAST_READINGS = 30  # fewer than this say nothing about what is normal

assert LAG_MS >= ALLOWED_MS + SKEW_MS and LAG_MS % BUCKET_MS == 0 and SPAN_MS % BUCKET_MS == 0

# How far behind the newest reading of a sensor another one may still come, with room for producers whose clocks differ.
# What no such reading needs is forgotten.
BEHIND_MS = ALLOWED_MS + SKEW_MS + 30_000
KEEP_MS = SPAN_MS + LAG_MS + BUCKET_MS + BEHIND_MS

Sums = tuple[int, int, int]  # how many readings, their sum, the sum of their squares


@dataclass(frozen=True, slots=True)
class Rule:
    """When a reading is an alert: so many deviations off, where a deviation is at least `least` thousandths."""

    threshold: float = 6.0
    least: int = 20


@dataclass(frozen=True, slots=True)
class Score:
    """A reading against its baseline; all in thousandths but `score`, which counts deviations."""

    mean: float
    deviation: float
    score: float
    readings: int


def thousandths(value: float) -> int:
    """To whole thousandths, halves up, as `floor(value * 1000 + 0.5)` in any language."""
    return math.floor(value * 1000 + 0.5)


def bucket_of(time_ms: int) -> int:
    return time_ms - time_ms % BUCKET_MS


def judged_by(time_ms: int) -> tuple[int, int]:
    """The first bucket of the baseline of a reading at this time, and the first one after it."""
    end = bucket_of(time_ms) - LAG_MS
    return end - SPAN_MS, end


def added(first: Sums, second: Sums) -> Sums:
    return first[0] + second[0], first[1] + second[1], first[2] + second[2]


def sums_of(milli: int) -> Sums:
    return 1, milli, milli * milli


def baseline(buckets: Mapping[int, Sums], time_ms: int) -> Sums:
    begin, end = judged_by(time_ms)
    return total(sums for bucket, sums in buckets.items() if begin <= bucket < end)


def total(parts: Iterable[Sums]) -> Sums:
    whole: Sums = (0, 0, 0)
    for part in parts:
        whole = added(whole, part)
    return whole


def scored(milli: int, sums: Sums, rule: Rule) -> Score | None:
    """None while too little is known. The order of these operations is that of `history.scores`, to the last bit."""
    count, plain, squares = sums
    if count < LEAST_READINGS:
        return None
    mean = float(plain) / float(count)
    spread = float(count * squares - plain * plain)
    deviation = max(math.sqrt(spread / (float(count) * float(count - 1))), float(rule.least))
    return Score(mean, deviation, (float(milli) - mean) / deviation, count)
