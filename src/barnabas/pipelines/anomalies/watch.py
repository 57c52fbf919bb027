"""One sensor watched: what is remembered between batches, and what a handful of new readings makes of it.

Plain Python, so it can be tried by hand; `now.py` hangs it into Spark. The memory is one JSON text for each sensor (a
call into Spark's state store costs more than reading it), and it is pruned by the newest reading, not by a watermark:
what is forgotten is decided by the sensor's own log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.pipelines.anomalies.answer import Alert
from barnabas.pipelines.anomalies.baseline import (
    BEHIND_MS,
    KEEP_MS,
    Rule,
    Sums,
    added,
    baseline,
    bucket_of,
    scored,
    sums_of,
)


@dataclass(slots=True)
class Memory:
    newest_ms: int = 0
    buckets: dict[int, Sums] = field(default_factory=dict)
    seen: set[tuple[int, int]] = field(default_factory=set)

    def text(self) -> str:
        buckets = [[bucket, *sums] for bucket, sums in sorted(self.buckets.items())]
        return json.dumps([self.newest_ms, buckets, sorted(self.seen)], separators=(",", ":"))

    @classmethod
    def of(cls, text: str | None) -> Memory:
        if text is None:
            return cls()
        newest, buckets, seen = json.loads(text)
        return cls(newest, {bucket: (n, x, xx) for bucket, n, x, xx in buckets}, {(at, seq) for at, seq in seen})


def watched(memory: Memory, sensor: str, readings: Iterable[tuple[int, int, int]], rule: Rule) -> list[Alert]:
    """Take in readings (time, seq, thousandths) in any order, and say which of them are alerts."""
    fresh = []
    for time_ms, seq, milli in readings:
        if (time_ms, seq) in memory.seen:
            continue
        memory.seen.add((time_ms, seq))
        bucket = bucket_of(time_ms)
        memory.buckets[bucket] = added(memory.buckets.get(bucket, (0, 0, 0)), sums_of(milli))
        memory.newest_ms = max(memory.newest_ms, time_ms)
        fresh.append((time_ms, seq, milli))
    baselines: dict[int, Sums] = {}  # all readings of a bucket have the same one
    alerts = []
    for time_ms, seq, milli in sorted(fresh):
        bucket = bucket_of(time_ms)
        if bucket not in baselines:
            baselines[bucket] = baseline(memory.buckets, time_ms)
        score = scored(milli, baselines[bucket], rule)
        if score is not None and abs(score.score) >= rule.threshold:
            values = (milli / 1000, score.mean / 1000, score.deviation / 1000, score.score)
            alerts.append(Alert(sensor, time_ms, seq, *values))
    _forget(memory)
    return alerts


def _forget(memory: Memory) -> None:
    memory.buckets = {bucket: sums for bucket, sums in memory.buckets.items() if bucket >= memory.newest_ms - KEEP_MS}
    memory.seen = {each for each in memory.seen if each[0] >= memory.newest_ms - BEHIND_MS}
