"""DescribeTransactions (65, version 0) and ListTransactions (66, versions 0-2): what operators see.

A shard answers for its own ids; whoever holds several shards joins the lists. Of a transaction whose markers are being
written, only the partitions that still wait are shown, so that a hanging one names its culprit. v1 of the list filters
by how long a transaction has run, v2 by a pattern (RE2, the whole id must match).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.coordinator.pattern import Pattern
from barnabas.core.txn.shard_state import ShardState
from barnabas.core.txn.states import BY_TITLE
from barnabas.core.txn.transaction import Transaction
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.model.limits import TRANSACTION_PATTERN_MAX_BYTES, TRANSACTION_PATTERN_MAX_CHARS

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeTransactionsRequest,
        DescribeTransactionsResponseBody,
        DescribeTransactionsResponseTopicDataBody,
        DescribeTransactionsResponseTransactionStateBody,
        ListTransactionsRequest,
        ListTransactionsResponseBody,
    )


def describe_transactions(
    world: ShardState, request: DescribeTransactionsRequest, info: RequestInfo
) -> DescribeTransactionsResponseBody:
    return {"transaction_states": [_described(world, name) for name in request.transactional_ids]}


def list_transactions(
    world: ShardState, request: ListTransactionsRequest, info: RequestInfo
) -> ListTransactionsResponseBody:
    pattern = _compiled(request.transactional_id_pattern)
    states = {BY_TITLE[title] for title in request.state_filters if title in BY_TITLE}
    longer_than_ms = request.duration_filter

    def wanted(transaction: Transaction) -> bool:
        return (
            (not request.producer_id_filters or transaction.producer_id in request.producer_id_filters)
            and (not request.state_filters or transaction.state in states)
            and (longer_than_ms < 0 or world.wall.clock_ms - transaction.start_ms > longer_than_ms)
            and (pattern is None or pattern.fullmatch(transaction.transactional_id) is not None)
        )

    listed = [transaction for transaction in world.transactions.values() if wanted(transaction)]
    return {
        "error_code": 0,
        "unknown_state_filters": [title for title in request.state_filters if title not in BY_TITLE],
        "transaction_states": [
            {
                "transactional_id": transaction.transactional_id,
                "producer_id": transaction.producer_id,
                "transaction_state": transaction.state.title,
            }
            for transaction in listed
        ],
    }


def _described(world: ShardState, name: str) -> DescribeTransactionsResponseTransactionStateBody:
    if not name:
        return undescribed(name, ErrorCode.INVALID_REQUEST)
    transaction = world.transactions.get(name)
    if transaction is None:
        return undescribed(name, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    ending = world.endings.get(name)
    return {
        "error_code": 0,
        "transactional_id": name,
        "transaction_state": transaction.state.title,
        "transaction_timeout_ms": transaction.timeout_ms,
        "transaction_start_time_ms": transaction.start_ms,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "topics": _topics(transaction.partitions if ending is None else frozenset(ending.open)),
    }


def undescribed(name: str, code: ErrorCode) -> DescribeTransactionsResponseTransactionStateBody:
    return {"error_code": int(code), "transactional_id": name}


def _topics(partitions: frozenset[TopicPartition]) -> list[DescribeTransactionsResponseTopicDataBody]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return [{"topic": topic, "partitions": numbers} for topic, numbers in topics.items()]


def _compiled(text: str | None) -> Pattern | None:
    if not text:
        return None
    if len(text) > TRANSACTION_PATTERN_MAX_CHARS:
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"longer than {TRANSACTION_PATTERN_MAX_CHARS} characters"
        )
    options = re2.Options()
    options.log_errors = False
    options.max_mem = TRANSACTION_PATTERN_MAX_BYTES
    try:
        compiled: Pattern = re2.compile(text, options)
    except re2.error as error:
        raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION, f"{text!r} is not a valid expression") from error
    return compiled
