"""AddPartitionsToTxn (24) versions 0-5 and AddOffsetsToTxn (25) versions 0-4: a transaction grows, or begins.

A client of the old generation names its partitions (24 v0-3) before it writes to them. With KIP-890 the partition's
leader does it when the first batch comes (v4+, several transactions in one request), or only asks whether an old
client has done so (`verify_only`): a partition outside the transaction is refused with TRANSACTION_ABORTABLE. Offsets
of a group are one more partition, that of `__consumer_offsets`. All partitions of one transaction succeed or fail
together; whether topics exist is for the caller to say.

A transaction kept for its ending (KIP-939) takes no more partitions: what was prepared is what is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.txn.checks import check_producer, concurrent, known
from barnabas.core.txn.shard_state import ShardState
from barnabas.core.txn.states import TxnState
from barnabas.core.txn.transaction import EPOCH_BUMP_VERSION
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import OFFSETS_TOPIC, TopicPartition

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        AddOffsetsToTxnRequest,
        AddOffsetsToTxnResponseBody,
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponseBody,
        AddPartitionsToTxnResultBody,
        AddPartitionsToTxnTopic,
        AddPartitionsToTxnTopicResultBody,
        AddPartitionsToTxnTransaction,
    )

FIRST_BATCHED_VERSION = 4  # of AddPartitionsToTxn: from brokers, on behalf of their producers


def add_partitions(
    world: ShardState, request: AddPartitionsToTxnRequest, info: RequestInfo
) -> AddPartitionsToTxnResponseBody:
    if info.api_version >= FIRST_BATCHED_VERSION:
        results = [_add_for_broker(world, item) for item in request.transactions]
        return {"error_code": 0, "results_by_transaction": results}
    producer = (request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
    topics = request.v3_and_below_topics
    _add(world, request.v3_and_below_transactional_id, producer, _partitions(topics), client_version=0)
    return {"results_by_topic_v3_and_below": topic_results(topics, ErrorCode.NONE)}


def add_offsets(world: ShardState, request: AddOffsetsToTxnRequest, info: RequestInfo) -> AddOffsetsToTxnResponseBody:
    known(world, request.transactional_id)  # before the group is looked up, as every other request does
    partition = TopicPartition(OFFSETS_TOPIC, world.offsets_partition(request.group_id))
    producer = (request.producer_id, request.producer_epoch)
    _add(world, request.transactional_id, producer, frozenset({partition}), client_version=0)
    return {"error_code": 0}


def topic_results(
    topics: Iterable[AddPartitionsToTxnTopic], code: ErrorCode
) -> list[AddPartitionsToTxnTopicResultBody]:
    return [_topic_result(topic, lambda _: code) for topic in topics]


def _add_for_broker(world: ShardState, item: AddPartitionsToTxnTransaction) -> AddPartitionsToTxnResultBody:
    producer = (item.producer_id, item.producer_epoch)
    try:
        if item.verify_only:
            results = _verify(world, item, producer)
        else:
            _add(world, item.transactional_id, producer, _partitions(item.topics), client_version=EPOCH_BUMP_VERSION)
            results = topic_results(item.topics, ErrorCode.NONE)
    except KafkaError as error:
        results = topic_results(item.topics, error.code)
    return {"transactional_id": item.transactional_id, "topic_results": results}


def _add(
    world: ShardState,
    name: str,
    producer: tuple[int, int],
    partitions: frozenset[TopicPartition],
    *,
    client_version: int,
) -> None:
    transaction = known(world, name)
    if transaction.state.is_prepared:
        raise concurrent()
    check_producer(transaction, *producer)
    if transaction.is_kept:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE, f"the prepared transaction of {name!r} can only be ended")
    if transaction.state is TxnState.ONGOING and partitions <= transaction.partitions:
        return
    world.save(transaction.with_partitions(partitions, world.wall.stamp_ms, client_version))


def _verify(
    world: ShardState, item: AddPartitionsToTxnTransaction, producer: tuple[int, int]
) -> list[AddPartitionsToTxnTopicResultBody]:
    transaction = known(world, item.transactional_id)
    check_producer(transaction, *producer)
    if transaction.state.is_prepared:
        raise concurrent()

    def verdict(partition: TopicPartition) -> ErrorCode:
        return ErrorCode.NONE if partition in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE

    return [_topic_result(topic, verdict) for topic in item.topics]


def _partitions(topics: Iterable[AddPartitionsToTxnTopic]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(topic.name, number) for topic in topics for number in topic.partitions)


def _topic_result(
    topic: AddPartitionsToTxnTopic, code: Callable[[TopicPartition], ErrorCode]
) -> AddPartitionsToTxnTopicResultBody:
    return {
        "name": topic.name,
        "results_by_partition": [
            {"partition_index": number, "partition_error_code": int(code(TopicPartition(topic.name, number)))}
            for number in topic.partitions
        ],
    }
