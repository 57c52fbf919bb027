"""A pipeline of one's own and a run of it, with a query of Python in the place of Spark's."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from barnabas import Producer
from barnabas.pipelines.framework import Outcome, Pipeline, Record, RunContext, Topic
from barnabas.pipelines.framework.run_directory import RunDirectory
from barnabas.pipelines.framework.running import Run, Wanted

ORDERS, REVENUE = Topic("orders", partitions=1), Topic("revenue", partitions=1)


class Query:
    """What the screen asks of a streaming query: progress, and whether it goes on. It ends when `until` is set."""

    def __init__(
        self, rows: int = 0, *, batches: int = 1, until: threading.Event | None = None, **progress: Any
    ) -> None:
        at = datetime.fromtimestamp(time.time() - 1, UTC).isoformat()
        told = {"timestamp": at, "numInputRows": rows, "durationMs": {"triggerExecution": 250}, **progress}
        self.recentProgress = [SimpleNamespace(json=json.dumps({"batchId": n, **told})) for n in range(batches)]
        self.lastProgress = self.recentProgress[-1] if batches else None
        self._until, self._stopped = until, False

    @property
    def isActive(self) -> bool:
        return not self._stopped and (self._until is None or not self._until.is_set())

    def exception(self) -> None:
        return None

    def stop(self) -> None:
        self._stopped = True

    def awaitTermination(self, seconds: float) -> bool:
        self._stopped = True
        return True


class Shop(Pipeline):
    """Its stream has made one result by the time that it runs; with --once it ends when that was shown."""

    name = "shop"
    summary = "revenue by item"
    reads = (ORDERS,)
    writes = (REVENUE,)

    def __init__(self) -> None:
        self.shown = threading.Event()

    def tell(self, topic: str, value: Mapping[str, object]) -> str:
        self.shown.set()
        return super().tell(topic, value)

    def now(self, context: RunContext) -> None:
        query: Any = Query(12, batches=2, until=self.shown if context.once else None)
        context.queries["revenue"] = query
        with Producer(context.bootstrap, value_serializer="json") as producer:
            producer.send(context.topic("revenue"), {"item": "tea", "revenue": 4.5})

    def later(self, context: RunContext) -> Outcome:
        return Outcome(["tea  2 orders"], {"report": context.path("revenue.csv")}, {"items": 1, "orders_read": 2000})

    def generate(self, seed: int, begin_ms: int, rate: float) -> Iterator[Record]:
        for number in range(1_000_000):
            yield Record("orders", None, {"id": number}, begin_ms + int(number * 1000 / rate))


def run_of(pipeline: Pipeline, bootstrap: str, folder: Path, **queries: Query) -> Run:
    nothing: Any = None
    started: Any = queries
    context = RunContext(pipeline, nothing, bootstrap, folder, queries=started)
    return Run(Wanted(pipeline, bootstrap, folder), context, RunDirectory(folder, pipeline.name), 1.5)
