"""The topic of decisions: for each query, which micro-batch was committed last, and by which transactions.

`__barnabas_spark_commits` is compacted and flushed. A record with a query's id as key is its last decision: written in
a transaction of the query's own transactional id, so that of two drivers with one query only the one that took the id
over last can decide. A record with the key `<query>/done` says up to which micro-batch everything is completed; it is
only a shortcut and may be missing or old.

`open` takes the id over and then reads: from then on the newest decision is known, and whoever decided before is
fenced. As long as nobody else opens, the ledger needs no reading again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from barnabas.link.codes import is_retriable, name_of
from barnabas.model.errors import ErrorCode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.cluster import Again, Cluster
from barnabas.pipelines.sink.encoding import Columns, columns_of
from barnabas.pipelines.sink.prepared import Fenced, NotOpen, Prepared
from barnabas.pipelines.sink.producer import RecordProducer
from barnabas.pipelines.sink.spread import murmur2_column
from barnabas.pipelines.sink.transactions import Transactions
from barnabas.wire.apis import CREATE_TOPICS, FETCH, LIST_OFFSETS
from barnabas.wire.batch import iter_batches
from barnabas.wire.records import iter_records

if TYPE_CHECKING:
    from barnabas.wire.messages import CreateTopicsResponse, FetchResponse, ListOffsetsResponse

COMMITS_TOPIC = "__barnabas_spark_commits"
PARTITIONS = 4
PREFIX = "barnabas-spark/"  # of every transactional id of this sink
CONFIGS = {
    "cleanup.policy": "compact",
    "flush.messages": "1",  # a decision is on disk before anybody acts on it
    "segment.bytes": str(1024 * 1024),  # small segments are compacted soon: the topic stays quick to read
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
}
PAST_RUNS = 50
FETCH_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Decision:
    """Micro-batch `batch` is committed: all of `prepared`, and nothing else. `run` is the driver that said so."""

    run: str
    batch: int
    prepared: tuple[Prepared, ...] = ()
    past_runs: tuple[str, ...] = ()  # drivers before this one, which must not come back


class _Written(msgspec.Struct):
    """A decision's JSON."""

    version: int
    run: str
    batch: int
    prepared: list[tuple[str, int, int]]
    past_runs: list[str]


class Ledger:
    def __init__(self, cluster: Cluster, transactions: Transactions, query: str) -> None:
        self._cluster = cluster
        self._transactions = transactions
        self._query = query
        self._transactional_id = PREFIX + query
        self._mine: Prepared | None = None

    # --- reading ----------------------------------------------------------------------------------------------------

    def open(self) -> tuple[Decision | None, int]:
        """The last decision, and the last micro-batch that is known to be complete (-1: none)."""
        self._ensure_topic()
        self._mine = self._transactions.begin(self._transactional_id, short=True)
        return self.peek()

    def peek(self) -> tuple[Decision | None, int]:
        """The same without taking the query over: what is decided right now may be missing."""
        if not self._topic_exists():
            return None, -1
        return self._cluster.patiently(f"read {COMMITS_TOPIC}", self._read)

    def _read(self) -> tuple[Decision | None, int]:
        decision, done = None, -1
        key = self._query.encode()
        done_key = key + b"/done"
        for found, value in self._records():
            if value is None:
                continue
            if found == key:
                decision = _decoded(value)
            elif found == done_key:
                done = max(done, int(value))
        return decision, done

    def _records(self) -> Iterator[tuple[bytes | None, bytes | None]]:
        partition = self._partition()
        leader = self._cluster.leader(COMMITS_TOPIC, partition)
        offset, end = self._offset(leader, partition, -2), self._offset(leader, partition, -1)
        while offset < end:
            asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": FETCH_BYTES}
            body = {
                "replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": FETCH_BYTES, "isolation_level": 1,
                "topics": [{"topic": COMMITS_TOPIC, "partitions": [asked]}],
            }  # fmt: skip
            fetched: FetchResponse = self._cluster.ask_node(leader, FETCH, body, 12)
            answer = fetched.responses[0].partitions[0]
            self._check(answer.error_code)
            aborted = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or [])
            begun: set[int] = set()
            at = offset
            data = bytes(answer.records or b"")
            for position, header in iter_batches(data):
                offset = header.base_offset + header.last_offset_delta + 1
                while aborted and aborted[0][0] <= header.base_offset:
                    begun.add(aborted.pop(0)[1])
                if header.is_control:
                    begun.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in begun):
                    yield from (
                        (each.key, each.value)
                        for each in iter_records(data[position : position + header.size])
                        if each.offset >= at
                    )
            if offset == at:
                raise Again(f"{COMMITS_TOPIC} gave nothing")

    def _offset(self, leader: int, partition: int, which: int) -> int:
        topics = [{"name": COMMITS_TOPIC, "partitions": [{"partition_index": partition, "timestamp": which}]}]
        body = {"replica_id": -1, "isolation_level": 1, "topics": topics}
        listed: ListOffsetsResponse = self._cluster.ask_node(leader, LIST_OFFSETS, body, 6)
        answer = listed.topics[0].partitions[0]
        self._check(answer.error_code)
        return int(answer.offset)

    # --- writing ----------------------------------------------------------------------------------------------------

    def decide(self, decision: Decision) -> None:
        """When this returns, it is decided. Fenced: somebody else has opened the ledger, and it is not."""
        assert self._mine is not None
        written = _Written(
            version=1,
            run=decision.run,
            batch=decision.batch,
            prepared=[(p.transactional_id, p.producer_id, p.producer_epoch) for p in decision.prepared],
            past_runs=list(decision.past_runs),
        )
        mine, self._mine = self._mine, None  # whatever fails from here on, the ledger has to be opened again
        producer = RecordProducer(self._cluster, mine.producer_id, mine.producer_epoch, mine.transactional_id)
        producer.write(COMMITS_TOPIC, [(self._partition(), 0, 1)], _one_row(self._query, msgspec.json.encode(written)))
        producer.flush()
        ended = self._transactions.commit([mine])[0]
        if isinstance(ended, NotOpen):
            raise Fenced(str(ended))
        self._mine = ended

    def mark_done(self, batch: int) -> None:
        producer = RecordProducer(self._cluster, -1, -1, None)
        done = _one_row(f"{self._query}/done", str(batch).encode())
        producer.write(COMMITS_TOPIC, [(self._partition(), 0, 1)], done)
        producer.flush()

    # --- the topic --------------------------------------------------------------------------------------------------

    def _partition(self) -> int:
        hashed = int(murmur2_column(pa.array([self._query.encode()], pa.large_binary()))[0])
        return (hashed & 0x7FFFFFFF) % self._cluster.partition_count(COMMITS_TOPIC)

    def _topic_exists(self) -> bool:
        return self._cluster.patiently(f"look {COMMITS_TOPIC} up", lambda: self._cluster.topic_exists(COMMITS_TOPIC))

    def _ensure_topic(self) -> None:
        if not self._topic_exists():
            self._cluster.patiently(f"make {COMMITS_TOPIC}", self._make_topic)

    def _make_topic(self) -> None:
        configs = [{"name": name, "value": value} for name, value in CONFIGS.items()]
        topic = {"name": COMMITS_TOPIC, "num_partitions": PARTITIONS, "replication_factor": -1, "configs": configs}
        body = {"topics": [topic], "timeout_ms": 30_000}
        created: CreateTopicsResponse = self._cluster.ask_any(CREATE_TOPICS, body, 7)
        answer = created.topics[0]
        if answer.error_code == ErrorCode.NOT_CONTROLLER:
            raise Again("the controller moves")
        if answer.error_code not in (0, ErrorCode.TOPIC_ALREADY_EXISTS):
            self._check(answer.error_code)
        self._cluster.forget_topic(COMMITS_TOPIC)

    def _check(self, code: int) -> None:
        if is_retriable(code):
            self._cluster.forget_topic(COMMITS_TOPIC)
            raise Again(name_of(code))
        if code:
            raise PipelineError(f"{COMMITS_TOPIC}: {name_of(code)}")


def _one_row(key: str, value: bytes) -> Columns:
    return columns_of(pa.array([key.encode()], pa.binary()), pa.array([value], pa.binary()), None)


def _decoded(value: bytes) -> Decision:
    try:
        written = msgspec.json.decode(value, type=_Written)
    except msgspec.MsgspecError as error:
        raise PipelineError(f"a record of {COMMITS_TOPIC} is not a decision of this sink: {error}") from None
    if written.version != 1:
        raise PipelineError(f"{COMMITS_TOPIC} was written by a newer version of this sink (format {written.version})")
    return Decision(
        run=written.run,
        batch=written.batch,
        prepared=tuple(Prepared(*each) for each in written.prepared),
        past_runs=tuple(written.past_runs),
    )
