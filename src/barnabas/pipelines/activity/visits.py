"""What follows from the order in which one member does things: sessions, and who was there in which hour.

Spark sorts the moments by member and time, and the sorted rows are gone through once. Spark's own session window makes
a row of each event and each session, which took several times the CPU.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.pipelines.activity import insights as told

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from barnabas.pipelines.activity.offers import Numbers

HOUR_MS = 3_600_000
COUNTED = "what string, key long, count long"
MEMBERS, HOUR, LENGTH = "members", "hour", "length"


@dataclass(frozen=True, slots=True)
class Visits:
    """How many members there were, how many in each hour, and how many sessions of how many whole seconds."""

    members: int
    hours: Mapping[int, int]
    lengths_s: Mapping[int, int]

    def sessions(self, events: int) -> told.Sessions:
        count = sum(self.lengths_s.values())
        if not count:
            return told.Sessions()
        classes = [0] * (len(told.LENGTHS_S) + 1)
        for length_s, sessions in self.lengths_s.items():
            classes[bisect_right(told.LENGTHS_S, length_s)] += sessions
        total_s = sum(length_s * sessions for length_s, sessions in self.lengths_s.items())
        return told.Sessions(count, events, total_s, _median(self.lengths_s), tuple(classes))


def visits(searches: DataFrame, views: DataFrame, gap_ms: int) -> Visits:
    """By event time, of all that members did."""
    from pyspark.sql import functions as f

    done = searches.select("member", "time").unionByName(views.select("member", "time"))
    moments = done.select("member", f.unix_millis("time").alias("at"))
    in_order = moments.repartition("member").sortWithinPartitions("member", "at")
    counted = in_order.mapInArrow(counting(gap_ms), COUNTED).groupBy("what", "key").agg(f.sum("count").alias("count"))
    found: dict[str, dict[int, int]] = {MEMBERS: {}, HOUR: {}, LENGTH: {}}
    for what, key, count in counted.collect():
        found[what][int(key)] = int(count)
    return Visits(found[MEMBERS].get(0, 0), found[HOUR], found[LENGTH])


def counting(gap_ms: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What runs in the workers: rows (member, at), all of a member in one task, to `COUNTED`."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        walk = Walk(gap_ms)
        for batch in batches:
            walk.take(batch.column("member").to_numpy(), batch.column("at").to_numpy())
        walk.end()
        rows = [(MEMBERS, 0, walk.members)]
        rows += [(HOUR, hour, members) for hour, members in walk.hours.items()]
        rows += [(LENGTH, length_s, sessions) for length_s, sessions in walk.lengths_s.items()]
        what, key, counts = zip(*rows, strict=True)
        kinds = pa.array(what), pa.array(key, pa.int64()), pa.array(counts, pa.int64())
        yield pa.RecordBatch.from_arrays(list(kinds), ["what", "key", "count"])

    return count


@dataclass(slots=True)
class Walk:
    """Goes through moments that come by member and time, some at a time."""

    gap_ms: int
    members: int = 0
    hours: Counter[int] = field(default_factory=Counter)
    lengths_s: Counter[int] = field(default_factory=Counter)
    _last: tuple[int, int] | None = None  # member and moment
    _begun_ms: int = 0  # of the session that is under way

    def take(self, members: Numbers, at_ms: Numbers) -> None:
        import numpy as np

        if not len(members):
            return
        before = self._last
        other, paused, later = (np.ones(len(members), bool) for _ in range(3))
        other[1:] = members[1:] != members[:-1]
        paused[1:] = at_ms[1:] - at_ms[:-1] > self.gap_ms
        hours = at_ms // HOUR_MS
        later[1:] = hours[1:] != hours[:-1]
        if before is not None:
            other[0] = members[0] != before[0]
            paused[0] = at_ms[0] - before[1] > self.gap_ms
            later[0] = hours[0] != before[1] // HOUR_MS
        self.members += int(np.count_nonzero(other))
        self._count(self.hours, hours[other | later])
        self._sessions(np.flatnonzero(other | paused), at_ms)
        self._last = int(members[-1]), int(at_ms[-1])

    def end(self) -> None:
        if self._last is not None:
            self.lengths_s[(self._last[1] - self._begun_ms) // 1000] += 1
            self._last = None

    def _sessions(self, begins: Numbers, at_ms: Numbers) -> None:
        if not len(begins):
            return
        if self._last is not None:
            ended_ms = int(at_ms[begins[0] - 1]) if begins[0] else self._last[1]
            self.lengths_s[(ended_ms - self._begun_ms) // 1000] += 1
        self._count(self.lengths_s, (at_ms[begins[1:] - 1] - at_ms[begins[:-1]]) // 1000)
        self._begun_ms = int(at_ms[begins[-1]])

    @staticmethod
    def _count(into: Counter[int], values: Numbers) -> None:
        import numpy as np

        for value, count in zip(*np.unique(values, return_counts=True), strict=True):
            into[int(value)] += int(count)


def _median(counts: Mapping[int, int]) -> float:
    """Of so many of each, without a list of all."""
    total = sum(counts.values())
    middle = []
    for place in ((total - 1) // 2, total // 2):
        for value, count in sorted(counts.items()):
            if place < count:
                middle.append(value)
                break
            place -= count
    return sum(middle) / 2
