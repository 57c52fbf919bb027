"""A pipeline of one's own in a test: feed rows, move event time, run it over what is there, look at what it told.

    with pipeline_test(Orders()) as test:
        test.feed("orders", [{"id": "1", "item": "tea", "price": 2.5, "time": "2026-05-01T10:00:00Z"}])
        test.advance("orders", "2026-05-01T10:01:00Z")
        test.run()
        assert test.results("revenue") == [...]

A real node and a real Spark run beneath, with topics of this test's own; a node and a session that are there already
are used (starting Spark costs seconds: keep one session for all tests). A second `run` goes on from the checkpoint of
the first, as a pipeline that was stopped and started again.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.client.admin.admin import Admin
from barnabas.client.consumer.consumer import Consumer
from barnabas.model.json_values import Json, JsonObject
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework import Outcome, Pipeline, Record, RunContext, deadletters
from barnabas.pipelines.framework.pipeline import DEAD_LETTER
from barnabas.pipelines.framework.progress.counting import Counts
from barnabas.pipelines.framework.records import write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.client.consumer.message import Message

RUN_WITHIN_S = 300
ATTEMPTS = 5
QUICK = {"spark.sql.shuffle.partitions": "1", "spark.ui.enabled": "false"}

_numbers = itertools.count(1)


@contextmanager
def pipeline_test(
    pipeline: Pipeline,
    *,
    spark: SparkSession | None = None,
    bootstrap: str | None = None,
    options: Mapping[str, str] | None = None,
) -> Iterator[PipelineTest]:
    """`options` are what `--set` would say."""
    from barnabas.pipelines.session import session
    from barnabas.testing.node import running_node

    with ExitStack() as stack:
        if bootstrap is None:
            bootstrap = stack.enter_context(running_node({"transaction.two.phase.commit.enable": True})).bootstrap
        if spark is None:
            spark = session("pipeline-test", master="local[2]", bootstrap=bootstrap, conf=QUICK)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="barnabas-pipeline-"))
        yield PipelineTest(pipeline, spark, bootstrap, Path(folder), options or {})


class PipelineTest:
    def __init__(
        self, pipeline: Pipeline, spark: SparkSession, bootstrap: str, folder: Path, options: Mapping[str, str]
    ) -> None:
        self.pipeline, self.spark, self.bootstrap, self.folder = pipeline, spark, bootstrap, folder
        self.options = options
        self.late = 0  # rows left out because of their event time, in all runs so far
        number = next(_numbers)
        every = (*pipeline.reads, *pipeline.writes)
        self._topics = {each.name: f"{each.name}-test-{number}" for each in every}
        self._last: dict[str, tuple[str | None, JsonObject]] = {}
        with Admin(bootstrap) as admin:
            for each in every:
                configs = {**each.configs, "retention.ms": "-1"}  # the times of a test may be long ago
                admin.create_topic(self._topics[each.name], partitions=1, configs=configs)
            for each in pipeline.reads:
                if each.schema is not None and each.streamed:
                    admin.create_topic(self._topics[each.name] + DEAD_LETTER, configs={"retention.ms": "-1"})

    def feed(
        self, topic: str, rows: Iterable[Mapping[str, Json]], *, key: str | None = None, sent: str | None = None
    ) -> None:
        """Write rows as JSON. `key` names the field that is the record's key, `sent` is the record's own timestamp;
        without, it is the row's event time, else now."""
        records = []
        for row in rows:
            value = dict(row)
            named = None if key is None else str(value[key])
            records.append(Record(topic, named, value, self._sent_ms(topic, value, sent)))
            self._last[topic] = (named, value)
        write(self.bootstrap, records, self._topic)

    def advance(self, topic: str, time: str) -> None:
        """Move event time: the last row that was fed comes once more, with this time (so it has to be one that fits).
        What lies before it, less the delay of the watermark, becomes final; the row's own window stays open."""
        if topic not in self._last:
            raise PipelineError(f"advance: feed {topic!r} a row first; it is sent again with the new time")
        key, value = self._last[topic]
        moved = {**value, self._event_time(topic): time}
        write(self.bootstrap, [Record(topic, key, moved, self._sent_ms(topic, moved, None))], self._topic)

    def run(self) -> None:
        """All that is there through `now`, to its end; then the dead letters."""
        context = RunContext(
            self.pipeline,
            self.spark,
            self.bootstrap,
            self.folder,
            once=True,
            topics=self._topics,
            options=self.options,
        )
        self.pipeline.now(context)
        deadletters.start(context)
        while context.queries:
            name = next(iter(context.queries))
            query = _ended(context, name)
            counts = Counts()
            counts.add(json.loads(each.json) for each in query.recentProgress)
            self.late += counts.late
            for waiting, before in list(context.waiting.items()):
                if before == name:
                    context.start_again(waiting)
            del context.queries[name]

    def later(self, begin_ms: int | None = None, end_ms: int | None = None) -> Outcome:
        """What `--later` does, over the records that were fed."""
        context = RunContext(
            self.pipeline,
            self.spark,
            self.bootstrap,
            self.folder,
            begin_ms,
            end_ms,
            topics=self._topics,
            options=self.options,
        )
        return self.pipeline.later(context)

    def results(self, topic: str) -> list[JsonObject]:
        """The values of a result topic, in their order, as a reader of committed records sees them."""
        return [json.loads(message.value) for message in self._messages(self._topic(topic))]

    def dead_letters(self, topic: str) -> list[tuple[bytes | None, str]]:
        """The records of a topic that did not fit, each with the reason."""
        found = self._messages(self._topic(topic) + DEAD_LETTER)
        return [(message.value, (dict(message.headers)["error"] or b"").decode()) for message in found]

    def _messages(self, name: str) -> list[Message]:
        with Consumer(name, bootstrap=self.bootstrap, follow=False, isolation_level="read_committed") as consumer:
            return list(consumer)

    def _topic(self, name: str) -> str:
        if name not in self._topics:
            raise PipelineError(f"{self.pipeline.name} has no topic {name!r}. It has {', '.join(sorted(self._topics))}")
        return self._topics[name]

    def _event_time(self, topic: str) -> str:
        named = next((each.event_time for each in self.pipeline.reads if each.name == topic), None)
        return named or "time"

    def _sent_ms(self, topic: str, value: Mapping[str, Json], sent: str | None) -> int:
        told = sent if sent is not None else value.get(self._event_time(topic))
        if isinstance(told, str):
            try:
                moment = datetime.fromisoformat(told)
            except ValueError:
                moment = None
            if moment is not None:
                return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
        return round(datetime.now(UTC).timestamp() * 1000)


def _ended(context: RunContext, name: str) -> StreamingQuery:
    """Wait for it. Spark gives a Python worker ten seconds to come up, which on a busy machine may be too few: then the
    query is started again, as `barnabas pipeline run` would."""
    for attempt in range(ATTEMPTS):
        query = context.queries[name]
        try:
            if not query.awaitTermination(RUN_WITHIN_S):
                raise TimeoutError(f"the query {name!r} did not end in {RUN_WITHIN_S} s")
            return query
        except Exception as error:  # Spark's StreamingQueryException, and pyspark may not be imported here
            if "failed to connect back" not in str(error) or attempt + 1 == ATTEMPTS:
                raise
        context.start_again(name)
    raise AssertionError("not reached")
