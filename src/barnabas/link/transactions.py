"""What answers say about transactions, and what is asked to end one; without I/O, for the command line and the console.

A coordinator knows a transaction by its id: its state, its producer, its partitions. A partition knows it only as a
producer that wrote and has no marker yet. The two disagree when a transaction hangs: a partition waits for a marker
that no coordinator will ever send, and whoever reads with read_committed waits with it (KIP-664).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeProducersResponse,
        DescribeTransactionsResponseTransactionState,
        ListTransactionsResponse,
        WriteTxnMarkersResponse,
    )

OPEN_STATES = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
PLAIN_TIMEOUT_MS = 60_000  # what the id gets when its own timeout is none that may be asked for (two-phase commit)
_COME_AGAIN = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
)


@dataclass(frozen=True, slots=True)
class Described:
    """A transactional id as its coordinator knows it."""

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    age_seconds: float | None
    partitions: list[TopicPartition]

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES


@dataclass(frozen=True, slots=True)
class Writer:
    """A producer as a partition knows it; `start_offset` where its open transaction begins."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    start_offset: int | None


@dataclass(frozen=True, slots=True)
class Hanging:
    """An open transaction that nobody will end."""

    topic: str
    partition: int
    start_offset: int
    producer_id: int
    producer_epoch: int
    idle_seconds: float
    transactional_id: str | None
    why: str


# --- answers --------------------------------------------------------------------------------------------------------


def open_ids(answer: ListTransactionsResponse) -> list[str]:
    return [each.transactional_id for each in answer.transaction_states if each.transaction_state in OPEN_STATES]


def described(told: DescribeTransactionsResponseTransactionState, coordinator: int, now_ms: float) -> Described:
    started = told.transaction_start_time_ms
    is_open = told.transaction_state in OPEN_STATES and started >= 0
    return Described(
        told.transactional_id,
        coordinator,
        told.producer_id,
        told.producer_epoch,
        told.transaction_state,
        told.transaction_timeout_ms,
        started if started >= 0 else None,
        max(0.0, now_ms - started) / 1000 if is_open else None,
        sorted(TopicPartition(topic.topic, index) for topic in told.topics for index in topic.partitions),
    )


def writers(answer: DescribeProducersResponse) -> list[Writer]:
    """Those of the partitions that were answered for without an error."""
    return [
        Writer(
            topic.name,
            part.partition_index,
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
        )
        for topic in answer.topics
        for part in topic.partitions
        if not part.error_code
        for each in part.active_producers
    ]


# --- what hangs -----------------------------------------------------------------------------------------------------


def suspects(found: Iterable[Writer], longer_than_ms: float, now_ms: float) -> list[Writer]:
    """Whose transaction is open in a partition without a write for so long."""
    return [
        each for each in found if each.start_offset is not None and now_ms - each.last_timestamp_ms >= longer_than_ms
    ]


def hanging(
    found: Iterable[Writer], names: Mapping[int, str], known: Mapping[str, Described], now_ms: float
) -> list[Hanging]:
    """Of the suspects those that no coordinator counts in. `names`: transactional ids by their producer."""
    rows = []
    for each in found:
        name = names.get(each.producer_id)
        details = None if name is None else known.get(name)
        if details is not None and TopicPartition(each.topic, each.partition) in details.partitions:
            continue
        why = "no coordinator knows this producer"
        if name is not None:
            why = "its coordinator does not count this partition in"
        idle_s = max(0.0, now_ms - each.last_timestamp_ms) / 1000
        rows.append(
            Hanging(
                each.topic,
                each.partition,
                each.start_offset or 0,
                each.producer_id,
                each.producer_epoch,
                idle_s,
                name,
                why,
            )
        )
    return rows


# --- ending one -----------------------------------------------------------------------------------------------------


class Claim(Enum):
    """What an answer to InitProducerId means for whoever ends a transaction by claiming its id."""

    DONE = "it has ended, and its producer is fenced"
    AGAIN = "it is being ended: ask again"
    PLAIN_TIMEOUT = "ask again, with PLAIN_TIMEOUT_MS"
    REFUSED = "it cannot be ended so"


def claimed(code: int, timeout_ms: int) -> Claim:
    if not code:
        return Claim.DONE
    if code == ErrorCode.INVALID_TRANSACTION_TIMEOUT and timeout_ms != PLAIN_TIMEOUT_MS:
        return Claim.PLAIN_TIMEOUT
    return Claim.AGAIN if code in _COME_AGAIN else Claim.REFUSED


def abort_marker(writer: Writer) -> dict[str, object]:
    """The body of WriteTxnMarkers that ends what a producer left open in one partition."""
    marker = {
        "producer_id": writer.producer_id,
        "producer_epoch": writer.producer_epoch,
        "coordinator_epoch": max(0, writer.coordinator_epoch),
        "transaction_result": False,
        "topics": [{"name": writer.topic, "partition_indexes": [writer.partition]}],
    }
    return {"markers": [marker]}


def marker_error(answer: WriteTxnMarkersResponse) -> int:
    codes = (part.error_code for each in answer.markers for topic in each.topics for part in topic.partitions)
    return next((code for code in codes if code), 0)


def by_topic(partitions: Sequence[tuple[str, int]]) -> list[dict[str, object]]:
    """As DescribeProducers names partitions."""
    topics: dict[str, list[int]] = {}
    for name, index in sorted(partitions):
        topics.setdefault(name, []).append(index)
    return [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()]
