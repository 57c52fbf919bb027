"""What one task does on an executor: rows in, acknowledged records out, and a message for the driver.

Exactly once: the rows go into a transaction that stays open; the message names it. Its transactional id belongs to this
Python process alone (a number drawn at its start) and to the run of the query, so two attempts can never share one,
whatever Spark retries or speculates. An id is used again in the next micro-batch, when the driver has long ended what
was under it; a process that runs several tasks of one micro-batch takes one id after the other. So there are as many
ids as tasks that run side by side, and not as many as tasks there ever were.

Spark keeps Python workers between tasks, and this module keeps their connections.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from barnabas.pipelines.common.garbage import exempt_imports
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import Cluster
from barnabas.pipelines.sink.columns import Rows, headers_of, rows_of
from barnabas.pipelines.sink.encoding import Numbers, columns_of
from barnabas.pipelines.sink.ledger import Ledger
from barnabas.pipelines.sink.options import SinkOptions
from barnabas.pipelines.sink.prepared import Prepared
from barnabas.pipelines.sink.producer import RecordProducer, Span
from barnabas.pipelines.sink.settle import task_prefix
from barnabas.pipelines.sink.spread import Spread
from barnabas.pipelines.sink.transactions import Transactions
from barnabas.pipelines.sink.values.settings import SinkValue


@dataclass(frozen=True)
class Identity:
    """Which micro-batch of which query, by which run of its driver."""

    query: str
    run: str
    batch: int
    decided_before: bool = True  # there may be a decision of an earlier run: look


@dataclass(frozen=True)
class TaskCommit(WriterCommitMessage):
    records: int
    identity: Identity | None = None
    prepared: Prepared | None = None


class _Process:
    """What this Python worker keeps from task to task. Made after the fork, so that no two workers share a name."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.name = uuid.uuid4().hex[:12]
        self.clusters: dict[SinkOptions, Cluster] = {}
        self.decided: dict[tuple[str, str], int] = {}
        self._last: dict[tuple[str, str], tuple[int, int]] = {}  # (query, run) -> (micro-batch, number of the last id)

    def cluster(self, options: SinkOptions) -> Cluster:
        if options not in self.clusters:
            self.clusters[options] = Cluster(options)
        return self.clusters[options]

    def next_id(self, identity: Identity) -> str:
        key = (identity.query, identity.run)
        batch, number = self._last.get(key, (identity.batch, -1))
        number = number + 1 if batch == identity.batch else 0
        self._last[key] = (identity.batch, number)
        return f"{task_prefix(identity.query, identity.run)}{self.name}.{number}"


_kept: _Process | None = None


def process() -> _Process:
    global _kept
    if _kept is None or _kept.pid != os.getpid():
        _kept = _Process()
    return _kept


def write_rows(
    options: SinkOptions,
    identity: Identity | None,
    batches: Iterator[pa.RecordBatch],
    value: SinkValue | None = None,
) -> TaskCommit:
    """`identity` is None when the rows are to be written at least once; `value` says how values are made of rows."""
    exempt_imports()
    here = process()
    cluster = here.cluster(options)
    if identity is not None and _is_decided(here, cluster, identity):
        for _ in batches:  # Spark wants its rows taken
            pass
        return TaskCommit(0, identity)
    task = _Task(here, cluster, options, identity)
    encode = None
    if value is not None:
        from barnabas.pipelines.sink.values.encoder import ValueEncoder

        encode = ValueEncoder(value).encode
    for batch in batches:
        if batch.num_rows:
            task.write(rows_of(batch, encode))
    return task.finish()


def _is_decided(here: _Process, cluster: Cluster, identity: Identity) -> bool:
    """A repeated micro-batch is the first of a run, so one look for each run is enough."""
    if not identity.decided_before:
        return False
    key = (identity.query, identity.run)
    if key not in here.decided:
        decision, _ = Ledger(cluster, Transactions(cluster), identity.query).peek()
        here.decided[key] = -1 if decision is None else decision.batch
    return identity.batch <= here.decided[key]


class _Task:
    def __init__(self, here: _Process, cluster: Cluster, options: SinkOptions, identity: Identity | None) -> None:
        self._here = here
        self._cluster = cluster
        self._options = options
        self._identity = identity
        self._spread = Spread()
        self._producer: RecordProducer | None = None  # made for the first row: an empty task costs nothing

    def write(self, rows: Rows) -> None:
        producer = self._producer = self._producer or self._new_producer()
        for topic, chosen in self._by_topic(rows):
            count = rows.count if chosen is None else len(chosen)
            value, key, partition, headers = (
                column if column is None or chosen is None else column.take(chosen)
                for column in (rows.value, rows.key, rows.partition, rows.headers)
            )
            places = self._spread.partitions(topic, self._cluster.partition_count(topic), count, key, partition)
            order, spans = _together(places)
            if order is not None:
                key, value, headers = (None if each is None else each.take(order) for each in (key, value, headers))
            producer.write(topic, spans, columns_of(key, value, None if headers is None else headers_of(headers)))

    def _by_topic(self, rows: Rows) -> Iterator[tuple[str, pa.Array | None]]:
        """Topics with the numbers of their rows; None for all of them."""
        if self._options.topic is not None:
            yield self._options.topic, None
            return
        assert rows.topic is not None
        if rows.topic.null_count:
            raise PipelineError('a row has no topic: fill the column \'topic\', or give .option("topic", "name")')
        names = rows.topic.dictionary.to_pylist()
        if len(names) == 1:
            yield names[0], None
            return
        order, spans = _together(np.asarray(rows.topic.indices))
        if len(spans) == 1:
            yield names[spans[0][0]], None
            return
        rows_in_order = pa.array(np.arange(rows.count)) if order is None else order
        for index, begin, end in spans:
            yield names[index], rows_in_order.slice(begin, end - begin)

    def _new_producer(self) -> RecordProducer:
        identity = self._identity
        transactions = Transactions(self._cluster)
        if identity is None:
            return RecordProducer(self._cluster, *transactions.new_producer(), None)
        mine = transactions.begin(self._here.next_id(identity))
        return RecordProducer(self._cluster, mine.producer_id, mine.producer_epoch, mine.transactional_id)

    def finish(self) -> TaskCommit:
        if self._producer is None:
            return TaskCommit(0, self._identity)
        self._producer.flush()
        prepared = self._producer.prepared if self._identity is not None else None
        return TaskCommit(self._producer.records, self._identity, prepared)


def _together(numbers: Numbers) -> tuple[pa.Array | None, list[Span]]:
    """An order in which the rows of each number stand together, as they came; None when they do already. Then each
    number with its rows in that order."""
    order, starts = None, _starts(numbers)
    if len(np.unique(numbers[starts])) < len(starts):
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        starts = _starts(numbers)
    ends = [*starts[1:].tolist(), len(numbers)]
    spans = list(zip(numbers[starts].tolist(), starts.tolist(), ends, strict=True))
    return None if order is None else pa.array(order), spans


def _starts(numbers: Numbers) -> Numbers:
    """Where each run of one number begins."""
    return np.concatenate(([0], np.flatnonzero(np.diff(numbers)) + 1))
