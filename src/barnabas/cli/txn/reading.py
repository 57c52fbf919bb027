"""What a cluster knows of its transactions, from both sides.

A coordinator knows a transaction by its id: its state, its producer, its partitions. A partition knows it only as a
producer that wrote and has no marker yet. The two disagree when a transaction hangs: a partition waits for a marker
that no coordinator will ever send, and whoever reads with read_committed waits with it (KIP-664).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.link import no_topic
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.wire.apis import DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeProducersResponse, DescribeTransactionsResponse, ListTransactionsResponse

OPEN_STATES = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})


@dataclass(frozen=True, slots=True)
class Listed:
    """A transactional id, and how long its transaction is open if one is."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str
    age_seconds: float | None


@dataclass(frozen=True, slots=True)
class Described:
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


def listed(
    cluster: Cluster,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
) -> list[Listed]:
    """Every transactional id that the cluster remembers, as far as it fits the filters."""
    body = {
        "state_filters": list(states),
        "producer_id_filters": list(producer_ids),
        "duration_filter": longer_than_ms,
        "transactional_id_pattern": pattern,
    }
    rows: list[Listed] = []
    for node_id in sorted(cluster.brokers):
        answer: ListTransactionsResponse = cluster.ask(node_id, LIST_TRANSACTIONS, body)
        if answer.error_code:
            raise refused(answer.error_code, f"list the transactions of node {node_id}")
        if answer.unknown_state_filters:
            known = "Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort"
            raise Failure(f"there is no state {answer.unknown_state_filters[0]!r}", f"There are {known}.")
        found = answer.transaction_states
        ages = {each.transactional_id: each.age_seconds for each in _ask(cluster, node_id, _open(found))}
        rows += [
            Listed(t.transactional_id, node_id, t.producer_id, t.transaction_state, ages.get(t.transactional_id))
            for t in found
        ]
    return sorted(rows, key=lambda row: row.transactional_id)


def _open(found: Iterable[object]) -> list[str]:
    return [each.transactional_id for each in found if each.transaction_state in OPEN_STATES]  # type: ignore[attr-defined]


def described(cluster: Cluster, transactional_id: str) -> Described | None:
    """What its coordinator knows of one id; None when it knows nothing."""
    found = _ask(cluster, cluster.coordinator(transactional_id), [transactional_id])
    return found[0] if found else None


def _ask(cluster: Cluster, node_id: int, names: list[str]) -> list[Described]:
    if not names:
        return []
    now_ms = time.time() * 1000
    rows = []
    told: DescribeTransactionsResponse = cluster.ask(node_id, DESCRIBE_TRANSACTIONS, {"transactional_ids": names})
    for each in told.transaction_states:
        if each.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            continue
        if each.error_code:
            raise refused(each.error_code, f"describe the transaction of {each.transactional_id!r}")
        started = each.transaction_start_time_ms
        is_open = each.transaction_state in OPEN_STATES and started >= 0
        partitions = [TopicPartition(topic.topic, index) for topic in each.topics for index in topic.partitions]
        rows.append(
            Described(
                each.transactional_id,
                node_id,
                each.producer_id,
                each.producer_epoch,
                each.transaction_state,
                each.transaction_timeout_ms,
                started if started >= 0 else None,
                max(0.0, now_ms - started) / 1000 if is_open else None,
                sorted(partitions),
            )
        )
    return rows


def writers(cluster: Cluster, topic: str | None, partition: int | None = None) -> list[Writer]:
    """The producers of a topic's partitions, or of all."""
    rows: list[Writer] = []
    for node_id, partitions in sorted(_led(cluster, topic, partition).items()):
        topics: dict[str, list[int]] = {}
        for name, index in sorted(partitions):
            topics.setdefault(name, []).append(index)
        wanted = [{"name": name, "partition_indexes": indexes} for name, indexes in topics.items()]
        producers: DescribeProducersResponse = cluster.ask(node_id, DESCRIBE_PRODUCERS, {"topics": wanted})
        for answer in producers.topics:
            for part in answer.partitions:
                if part.error_code:
                    raise refused(part.error_code, f"describe the producers of {answer.name}-{part.partition_index}")
                rows += [
                    Writer(
                        answer.name,
                        part.partition_index,
                        each.producer_id,
                        each.producer_epoch,
                        each.coordinator_epoch,
                        each.last_sequence,
                        each.last_timestamp,
                        each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
                    )
                    for each in part.active_producers
                ]
    return sorted(rows, key=lambda row: (row.topic, row.partition, row.producer_id))


def _led(cluster: Cluster, topic: str | None, partition: int | None) -> dict[int, list[TopicPartition]]:
    """The partitions that are asked about, by their leaders."""
    found = cluster.metadata(None if topic is None else [topic]).topics
    if topic is not None and (not found or found[0].error_code):
        names = [each.name or "" for each in cluster.metadata(None).topics if not each.is_internal]
        raise no_topic(topic, names)
    led: dict[int, list[TopicPartition]] = {}
    for each in found:
        for part in each.partitions:
            if part.leader_id >= 0 and partition in (None, part.partition_index):
                led.setdefault(part.leader_id, []).append(TopicPartition(each.name or "", part.partition_index))
    if partition is not None and not led:
        raise Failure(f"topic {topic!r} has no partition {partition} with a leader")
    return led


def hanging(cluster: Cluster, topic: str | None, partition: int | None, longer_than_ms: int) -> list[Hanging]:
    """Open transactions without a write for so long, that their coordinator does not know or has left behind."""
    now_ms = time.time() * 1000
    suspects = [
        each
        for each in writers(cluster, topic, partition)
        if each.start_offset is not None and now_ms - each.last_timestamp_ms >= longer_than_ms
    ]
    names = {each.producer_id: each for each in listed(cluster, producer_ids=sorted({w.producer_id for w in suspects}))}
    rows = []
    for each in suspects:
        known = names.get(each.producer_id)
        why = "no coordinator knows this producer"
        if known is not None:
            details = described(cluster, known.transactional_id)
            if details is not None and TopicPartition(each.topic, each.partition) in details.partitions:
                continue
            why = "its coordinator does not count this partition in"
        rows.append(
            Hanging(
                each.topic,
                each.partition,
                each.start_offset or 0,
                each.producer_id,
                each.producer_epoch,
                max(0.0, now_ms - each.last_timestamp_ms) / 1000,
                None if known is None else known.transactional_id,
                why,
            )
        )
    return rows
