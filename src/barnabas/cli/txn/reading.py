"""What a cluster knows of its transactions, from both sides: coordinators and partitions (link/transactions.py)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.link import no_topic
from barnabas.link import transactions
from barnabas.link.transactions import Described, Hanging, Writer
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition
from barnabas.wire.apis import DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeProducersResponse, DescribeTransactionsResponse, ListTransactionsResponse


@dataclass(frozen=True, slots=True)
class Listed:
    """A transactional id, and how long its transaction is open if one is."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str
    age_seconds: float | None


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
        ages = {
            each.transactional_id: each.age_seconds for each in _ask(cluster, node_id, transactions.open_ids(answer))
        }
        rows += [
            Listed(t.transactional_id, node_id, t.producer_id, t.transaction_state, ages.get(t.transactional_id))
            for t in found
        ]
    return sorted(rows, key=lambda row: row.transactional_id)


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
        rows.append(transactions.described(each, node_id, now_ms))
    return rows


def writers(cluster: Cluster, topic: str | None, partition: int | None = None) -> list[Writer]:
    """The producers of a topic's partitions, or of all."""
    rows: list[Writer] = []
    for node_id, partitions in sorted(_led(cluster, topic, partition).items()):
        wanted = {"topics": transactions.by_topic(partitions)}
        answer: DescribeProducersResponse = cluster.ask(node_id, DESCRIBE_PRODUCERS, wanted)
        for topic_answer in answer.topics:
            for part in topic_answer.partitions:
                if part.error_code:
                    where = f"{topic_answer.name}-{part.partition_index}"
                    raise refused(part.error_code, f"describe the producers of {where}")
        rows += transactions.writers(answer)
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
    found = transactions.suspects(writers(cluster, topic, partition), longer_than_ms, now_ms)
    ids = sorted({each.producer_id for each in found})
    names = {each.producer_id: each.transactional_id for each in listed(cluster, producer_ids=ids)}
    known = {name: details for name in names.values() if (details := described(cluster, name)) is not None}
    return transactions.hanging(found, names, known, now_ms)
