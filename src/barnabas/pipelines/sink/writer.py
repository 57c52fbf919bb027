"""What Spark calls: `write` on the executors, `commit` or `abort` on the driver, for batches and for streams.

Spark runs the driver's part in a Python process of its own, which it keeps between micro-batches; what it knows of a
query (connections, the open ledger) is kept there too. Where a stream's identity comes from: Spark tells each task the
query's id, which lies in the checkpoint and so survives the driver, the id of this run, and the micro-batch; the tasks'
messages carry them to the driver.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from barnabas.pipelines.errors import PipelineError, reason_first
from barnabas.pipelines.sink.columns import check_schema
from barnabas.pipelines.sink.ledger import Ledger
from barnabas.pipelines.sink.options import SinkOptions, parse_options
from barnabas.pipelines.sink.prepared import Prepared
from barnabas.pipelines.sink.settle import Settlement, abort_run, commit_unnamed
from barnabas.pipelines.sink.tasks import Identity, TaskCommit, process, write_rows
from barnabas.pipelines.sink.transactions import Transactions
from barnabas.pipelines.sink.values.settings import sink_value

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

QUERY_ID_PROPERTY = "sql.streaming.queryId"
BATCH_ID_PROPERTY = "streaming.sql.batchId"
RUN_ID_PROPERTY = "spark.jobGroup.id"  # Spark runs the jobs of a stream in a group named after its run

Messages = Sequence[WriterCommitMessage | None]

# Of this process. A stream that is stopped is aborted without a word of its tasks; its last commit says who it was.
_settlements: dict[tuple[int, SinkOptions, str], Settlement] = {}
_last_seen: dict[tuple[SinkOptions, str], Identity] = {}


class BarnabasStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = parse_options(options, streaming=True)
        self._checkpoint = str(options.get("checkpointLocation"))
        self._value = sink_value(options, schema, self._options.topic)
        check_schema(schema, self._options.topic, self._value)

    @reason_first
    def write(self, iterator: Iterator[object]) -> TaskCommit:
        identity = stream_identity(TaskContext.get()) if self._options.exactly_once else None
        return write_rows(self._options, identity, iterator, self._value)

    @reason_first
    def commit(self, messages: Messages, batchId: int) -> None:
        identity, prepared = _told(messages)
        if identity is not None:
            _last_seen[self._options, self._checkpoint] = identity
            _settlement(self._options, identity.query).commit(identity.run, batchId, prepared)

    @reason_first
    def abort(self, messages: Messages, batchId: int) -> None:
        identity, prepared = _told(messages)
        identity = identity or _last_seen.get((self._options, self._checkpoint))
        if identity is not None:
            _settlement(self._options, identity.query).abort(identity.run, batchId, prepared)


class BarnabasBatchWriter(DataSourceArrowWriter):
    """With `queryId` a batch is one micro-batch of a query; without, its transactions are simply ended together."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options = parse_options(options, streaming=False)
        self._value = sink_value(options, schema, self._options.topic)
        check_schema(schema, self._options.topic, self._value)
        self._identity: Identity | None = None
        if self._options.exactly_once:
            run, named = uuid.uuid4().hex, self._options.query_id is not None
            self._identity = Identity(self._options.query_id or run, run, self._options.batch_id, decided_before=named)

    @reason_first
    def write(self, iterator: Iterator[object]) -> TaskCommit:
        return write_rows(self._options, self._identity, iterator, self._value)

    @reason_first
    def commit(self, messages: Messages) -> None:
        identity, prepared = _told(messages)
        if identity is None:
            return
        if identity.decided_before:
            _settlement(self._options, identity.query).commit(identity.run, identity.batch, prepared)
            return
        commit_unnamed(Transactions(process().cluster(self._options)), prepared)

    @reason_first
    def abort(self, messages: Messages) -> None:
        _, prepared = _told(messages)
        mine = self._identity
        if mine is None:
            return
        if mine.decided_before:
            _settlement(self._options, mine.query).abort(mine.run, mine.batch, prepared)
            return
        abort_run(Transactions(process().cluster(self._options)), mine.query, mine.run)


def stream_identity(context: TaskContext | None) -> Identity:
    def told(name: str) -> str:
        found = context.getLocalProperty(name) if context is not None else None
        if not found:
            raise PipelineError(
                f"Spark does not say which query this is ({name}): exactly once needs a streaming query;"
                " delivery=at-least-once does without"
            )
        return str(found)

    return Identity(told(QUERY_ID_PROPERTY), told(RUN_ID_PROPERTY), int(told(BATCH_ID_PROPERTY)))


def _told(messages: Messages) -> tuple[Identity | None, list[Prepared]]:
    found = [each for each in messages if isinstance(each, TaskCommit)]
    identity = next((each.identity for each in found if each.identity is not None), None)
    return identity, [each.prepared for each in found if each.prepared is not None]


def _settlement(options: SinkOptions, query: str) -> Settlement:
    here = process()
    key = (here.pid, options, query)
    if key not in _settlements:
        cluster = here.cluster(options)
        transactions = Transactions(cluster)
        ledger = Ledger(cluster, transactions, query)
        _settlements[key] = Settlement(query, ledger, transactions, fail_on_loss=options.fail_on_data_loss)
    return _settlements[key]
