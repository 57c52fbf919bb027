"""How a run is doing, for the screen, for `status` and for the summary: rows a second, lag, batch time, last results.

Rows and times are Spark's own progress. Lag is asked of the cluster, as of any consumer group: how many records are not
read yet, and how old the oldest of them is. Results and dead letters are read back from their topics as a consumer
would read them (read_committed), so what is shown is what others can see. The two that ask the cluster run in threads:
a broker that is away must not freeze the screen.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.framework.pipeline import DEAD_LETTER
from barnabas.pipelines.framework.progress.counting import Counts, watermark_trouble

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.client.admin.descriptions import GroupPartition
    from barnabas.pipelines.framework.running import Run

LAG_EVERY_S = 1.0
RATE_OVER_S = 10.0
SHOWN = 50


@dataclass(slots=True)
class QueryState:
    name: str
    batches: int = 0
    rows: int = 0
    rows_per_s: float = 0.0
    batch_ms: int | None = None
    state_bytes: int = 0
    late: int = 0
    trouble: str = ""


@dataclass(slots=True)
class Shown:
    """One record of a result or dead-letter topic."""

    topic: str
    at_ms: int
    value: bytes
    headers: dict[str, str]
    key: str


@dataclass(slots=True)
class Snapshot:
    queries: list[QueryState] = field(default_factory=list)
    lag_records: int | None = None
    lag_seconds: float | None = None
    results: int = 0
    bad: int = 0
    late: int = 0  # rows left out because of their event time
    ui: str | None = None  # the address of Spark's own pages


class Watch:
    """`with Watch(run) as watch: watch.look()`."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._ends = threading.Event()
        self._lag: tuple[int | None, float | None] = (None, None)
        self._counts: dict[str, Counts] = {}  # by query
        self.first_result_s: float | None = None
        self.begun = time.monotonic()
        self.results = 0
        self.bad = 0
        self.on_result: Callable[[Shown], None] | None = None
        self.recent: deque[Shown] = deque(maxlen=SHOWN)
        self.dead: deque[Shown] = deque(maxlen=SHOWN)
        self._threads = [threading.Thread(target=each, daemon=True) for each in (self._ask_lag, self._read_back)]

    def __enter__(self) -> Watch:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(5)

    def look(self) -> Snapshot:
        states = []
        for name, query in self._run.context.queries.items():
            states.append(self._query(name, query))
        late = max((each.late for each in states), default=0)  # several queries may leave the same record out
        return Snapshot(states, *self._lag, self.results, self._bad(), late, self._run.context.spark_ui())

    def _bad(self) -> int:
        """What the queries have seen, or the dead letters: those come a little later."""
        seen: Counter[str] = Counter()
        for counts in self._counts.values():
            seen |= counts.bad
        return max(seen.total(), self.bad)

    def tell(self, state: JsonObject) -> None:
        """For `barnabas pipeline status`."""
        snapshot = self.look()
        self._run.house.tell("now", {**state, **asdict(snapshot), "told_at": time.time()})

    def _query(self, name: str, query: StreamingQuery) -> QueryState:
        """Rows are counted by batch, so that a query that was started again goes on counting."""
        state = QueryState(name, trouble=self._run.troubles.get(name, ""))
        progress = _progress(query)
        counts = self._counts.setdefault(name, Counts())
        counts.add(progress)
        state.rows, state.late = counts.rows, counts.late
        now = time.time()
        if progress:
            state.batches = progress[-1]["batchId"] + 1
            state.state_bytes = sum(each["memoryUsedBytes"] for each in progress[-1].get("stateOperators", ()))
            if now - _ended(progress[-1]) < RATE_OVER_S and query.isActive:
                self._run.troubles.pop(name, None)  # it works again
            state.trouble = state.trouble or watermark_trouble(progress[-1], now)
        busy = [each for each in progress if each["numInputRows"] > 0]
        if busy:
            state.batch_ms = busy[-1]["durationMs"].get("triggerExecution")
        state.rows_per_s = rows_per_s(busy, now)
        return state

    def _ask_lag(self) -> None:
        from barnabas.pipelines.framework.progress.lags import Lags  # librdkafka, which `status` has no use for

        while not self._ends.is_set():
            with suppress(Exception), closing(Lags(self._run.wanted.bootstrap)) as lags:
                while not self._ends.wait(LAG_EVERY_S):
                    groups = self._run.context.groups()
                    self._lag = lag_of({name: lags.of(name) for name in groups}, groups)
            self._ends.wait(LAG_EVERY_S)

    def _read_back(self) -> None:
        wanted = self._run.wanted
        results = [wanted.topic(topic.name) for topic in wanted.pipeline.writes]
        dead = [wanted.topic(topic.dead_letter) for topic in wanted.pipeline.reads if topic.schema and topic.streamed]
        if not results and not dead:
            return
        from barnabas.pipelines.framework.readback import read_from_end

        for record in read_from_end(wanted.bootstrap, [*results, *dead], self._ends.is_set):
            if record.topic.endswith(DEAD_LETTER):
                self.bad += 1
                self.dead.append(record)
                continue
            if self.results == 0:
                self.first_result_s = time.monotonic() - self.begun
            self.results += 1
            self.recent.append(record)
            if self.on_result is not None:
                self.on_result(record)


def lag_of(
    found: Mapping[str, Sequence[GroupPartition]], groups: Mapping[str, set[str]]
) -> tuple[int | None, float | None]:
    """Records and seconds behind. Of a partition that several queries read, the slowest counts; a topic that the group
    read in an earlier run and this one does not, is left out. While a query that is starting has committed nothing,
    nothing is known: the others alone would seem to say that everything is read."""
    records: dict[tuple[str, int], int] = {}
    seconds: list[float] = []
    for group, topics in groups.items():
        known = [each for each in found[group] if each.topic in topics]
        if {each.topic for each in known if each.lag_records is not None} != topics:
            return None, None
        for each in known:
            place = (each.topic, each.partition)
            records[place] = max(each.lag_records or 0, records.get(place, 0))
            if each.lag_seconds is not None:
                seconds.append(each.lag_seconds)
    return (sum(records.values()) if records else None), max(seconds, default=None)


def rows_per_s(busy: list[JsonObject], now: float) -> float:
    """Over the last ten seconds, or twice the time of the last batch: while a long one runs, there is no progress."""
    if not busy:
        return 0.0
    within_s = max(RATE_OVER_S, 2 * (_ended(busy[-1]) - _begun(busy[-1])))
    recent = [each for each in busy if now - _ended(each) < within_s]
    over_s = max(1.0, now - min((_begun(each) for each in recent), default=now))
    return float(sum(each["numInputRows"] for each in recent) / over_s)


def _progress(query: StreamingQuery) -> list[JsonObject]:
    try:
        return [json.loads(each.json) for each in query.recentProgress]
    except Exception:  # a query that is just ending
        return []


def _begun(progress: JsonObject) -> float:
    return datetime.fromisoformat(progress["timestamp"]).timestamp()


def _ended(progress: JsonObject) -> float:
    return _begun(progress) + float(progress["durationMs"].get("triggerExecution", 0)) / 1000
