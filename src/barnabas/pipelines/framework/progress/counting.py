"""What a query's progress tells, added up over its batches: rows read, rows left out as late, records that did not fit.

Spark keeps the progress of the last batches only, so this is asked again and again and counts each batch once, also
when a query was started again. Late are the rows that Spark dropped behind the watermark (`numRowsDroppedByWatermark`)
and those that a pipeline's own rule left out (`lateness.counting`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from barnabas.model.json_values import Json
from barnabas.pipelines.common.lateness import LATE_METRIC
from barnabas.pipelines.framework.decoding import BAD_METRIC

KEPT = 500  # batches that are remembered, so that none is counted twice
WATERMARK_AHEAD_S = 86_400.0


@dataclass(slots=True)
class Counts:
    rows: int = 0
    late: int = 0
    bad: Counter[str] = field(default_factory=Counter)  # by topic
    _seen: dict[int, None] = field(default_factory=dict)

    def add(self, progress: Iterable[Mapping[str, Json]]) -> None:
        for each in progress:
            if each["batchId"] in self._seen or each["batchId"] < min(self._seen, default=0):
                continue
            self._seen[each["batchId"]] = None
            self.rows += each["numInputRows"]
            self.late += late_rows(each)
            for name, found in _metrics(each).items():
                if name.startswith(BAD_METRIC):
                    self.bad[name.removeprefix(BAD_METRIC)] += int(found.get("bad") or 0)
        while len(self._seen) > KEPT:
            del self._seen[next(iter(self._seen))]


def late_rows(progress: Mapping[str, Json]) -> int:
    """The rows of one batch that were left out because of their event time."""
    dropped = sum(int(each.get("numRowsDroppedByWatermark", 0)) for each in progress.get("stateOperators") or ())
    by_rule = (found.get("late") for name, found in _metrics(progress).items() if name.startswith(LATE_METRIC))
    return dropped + sum(int(each or 0) for each in by_rule)


def watermark_trouble(progress: Mapping[str, Json], now_s: float) -> str:
    """What to say when the watermark is far in the future, so that every row is late; else nothing."""
    told = (progress.get("eventTime") or {}).get("watermark")
    if not told:
        return ""
    try:
        ahead = datetime.fromisoformat(told).timestamp() - now_s > WATERMARK_AHEAD_S
    except ValueError:  # a year with more than four digits
        ahead = True
    if not ahead:
        return ""
    return (
        f"the watermark is at {told}, in the future: every row is late. Mend the event times, then start with --fresh"
    )


def _metrics(progress: Mapping[str, Json]) -> Mapping[str, Mapping[str, Json]]:
    return progress.get("observedMetrics") or {}
