"""The right answer in plain Python: the alerts of a log, and the back-test of thresholds on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barnabas.pipelines.anomalies.baseline import (
    ALLOWED_MS,
    Rule,
    Score,
    Sums,
    added,
    baseline,
    bucket_of,
    scored,
    sums_of,
    thousandths,
)
from barnabas.pipelines.anomalies.generator import INCIDENTS, READINGS
from barnabas.pipelines.common.disorder import millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.framework.records import Record


@dataclass(frozen=True, slots=True, order=True)
class Alert:
    """A reading that is not normal. Values in the sensor's unit."""

    sensor: str
    time_ms: int
    seq: int
    value: float
    mean: float
    deviation: float
    score: float


@dataclass(frozen=True, slots=True, order=True)
class Incident:
    sensor: str
    begin_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Tried:
    """One threshold on the history: how many alerts, how many of them in an incident, how many incidents were seen."""

    threshold: float
    alerts: int
    true_alerts: int
    incidents: int
    incidents_seen: int

    @property
    def precision(self) -> float:
        return self.true_alerts / self.alerts if self.alerts else 0.0

    @property
    def recall(self) -> float:
        return self.incidents_seen / self.incidents if self.incidents else 0.0

    @property
    def balance(self) -> float:
        """The harmonic mean of the two (F1)."""
        together = self.precision + self.recall
        return 2 * self.precision * self.recall / together if together else 0.0


Scored = tuple[str, int, int, int, Score]  # sensor, time, seq, the reading in thousandths, and its score


def all_scores(records: Iterable[Record], rule: Rule) -> list[Scored]:
    """Every reading that counts and has a baseline, each once."""
    readings: dict[tuple[str, int, int], int] = {}
    for record in records:
        if record.topic != READINGS:
            continue
        value = record.value
        time_ms = millis(value["time"])
        if counts(time_ms, record.time_ms, ALLOWED_MS):
            readings.setdefault((value["sensor"], time_ms, value["seq"]), thousandths(value["value"]))
    buckets: dict[str, dict[int, Sums]] = defaultdict(dict)
    for (sensor, time_ms, _), milli in readings.items():
        held = buckets[sensor]
        bucket = bucket_of(time_ms)
        held[bucket] = added(held.get(bucket, (0, 0, 0)), sums_of(milli))
    found = []
    for (sensor, time_ms, seq), milli in readings.items():
        score = scored(milli, baseline(buckets[sensor], time_ms), rule)
        if score is not None:
            found.append((sensor, time_ms, seq, milli, score))
    return sorted(found, key=lambda each: each[:3])


def alerts(records: Iterable[Record], rule: Rule) -> list[Alert]:
    return [
        Alert(sensor, time_ms, seq, milli / 1000, score.mean / 1000, score.deviation / 1000, score.score)
        for sensor, time_ms, seq, milli, score in all_scores(records, rule)
        if abs(score.score) >= rule.threshold
    ]


def incidents(records: Iterable[Record]) -> list[Incident]:
    found = {
        Incident(record.value["sensor"], millis(record.value["begin"]), millis(record.value["end"]))
        for record in records
        if record.topic == INCIDENTS
    }
    return sorted(found)


def back_test(records: Sequence[Record], thresholds: Sequence[float], rule: Rule) -> list[Tried]:
    found, known = all_scores(records, rule), incidents(records)
    tried = []
    for threshold in thresholds:
        loud = [(sensor, time_ms) for sensor, time_ms, _, _, score in found if abs(score.score) >= threshold]
        hits = [
            [incident for incident in known if incident.sensor == sensor and _in(time_ms, incident)]
            for sensor, time_ms in loud
        ]
        seen = {incident for hit in hits for incident in hit}
        tried.append(Tried(threshold, len(loud), sum(bool(hit) for hit in hits), len(known), len(seen)))
    return tried


def _in(time_ms: int, incident: Incident) -> bool:
    return incident.begin_ms <= time_ms < incident.end_ms
