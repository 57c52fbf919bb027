"""AddPartitionsToTxn (24), versions 0-5: partitions a transaction writes to.

Until v3 a client of the old generation names them before it writes. From v4 on leaders of partitions ask on behalf of
their producers, several transactions at once (KIP-890). Unknown topics, and those that a link fills, are refused here,
and then nothing of that transaction is added.

Versions: 1 throttling by the client (KIP-219), 2 PRODUCER_FENCED (KIP-588), 3 flexible, 4 several transactions, from
brokers (KIP-890), 5 TRANSACTION_ABORTABLE.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import (
    CLUSTER_ACTION,
    TOPIC,
    WRITE,
    may,
    may_on_cluster,
    refused_on_cluster,
    require_transactional_id,
)
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.broker.network.loop_budget import LoopBudget, in_turns
from barnabas.core.cluster.links import is_linked
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import INTERNAL_TOPICS
from barnabas.wire import messages

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TransactionsNode
    from barnabas.wire.messages import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnResponseBody,
        AddPartitionsToTxnResultBody,
        AddPartitionsToTxnTopic,
        AddPartitionsToTxnTopicResultBody,
        AddPartitionsToTxnTransaction,
    )

_SEVERAL_SINCE = 4


def handle(
    node: TransactionsNode, request: AddPartitionsToTxnRequest, context: RequestContext
) -> Answered[AddPartitionsToTxnResponseBody]:
    if context.api_version >= _SEVERAL_SINCE:
        if not may_on_cluster(node, context, CLUSTER_ACTION):
            code = refused_on_cluster(node, context, CLUSTER_ACTION).code
            return {"error_code": int(code), "results_by_transaction": []}
        return _several(node, request, context)
    require_transactional_id(node, context, WRITE, request.v3_and_below_transactional_id)
    topics = request.v3_and_below_topics
    refused = {topic.name for topic in topics if not _may_write(node, context, topic.name)}
    if refused or _blocked(node, topics):
        return {"results_by_topic_v3_and_below": _none_added(node, topics, refused)}
    try:
        return node.transactions.ask_after_completion(request.v3_and_below_transactional_id, request, context)
    except KafkaError as error:
        return {"results_by_topic_v3_and_below": _refused(topics, error.code)}


async def _several(
    node: TransactionsNode, request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponseBody:
    """Each coordinator has its own part; all are asked before the first is waited for. There may be thousands: others
    are served in between."""
    answers = await in_turns(request.transactions, lambda item: _one(node, item, context))
    results: list[AddPartitionsToTxnResultBody] = []
    budget = LoopBudget()
    for item, answer in zip(request.transactions, answers, strict=True):
        results.append(await _result(item, answer))
        await budget.pause()
    return {"error_code": 0, "results_by_transaction": results}


def _one(
    node: TransactionsNode, item: AddPartitionsToTxnTransaction, context: RequestContext
) -> AddPartitionsToTxnResponseBody | asyncio.Future[AddPartitionsToTxnResponseBody]:
    if _blocked(node, item.topics):
        return _only(item, _none_added(node, item.topics))
    part = messages.AddPartitionsToTxnRequest(transactions=[item])
    try:
        return node.transactions.ask_after_completion(item.transactional_id, part, context)
    except KafkaError as error:
        return _only(item, _refused(item.topics, error.code))


async def _result(
    item: AddPartitionsToTxnTransaction,
    answer: AddPartitionsToTxnResponseBody | asyncio.Future[AddPartitionsToTxnResponseBody],
) -> AddPartitionsToTxnResultBody:
    if isinstance(answer, asyncio.Future):
        try:
            answer = await answer
        except KafkaError as error:
            answer = _only(item, _refused(item.topics, error.code))
    return answer["results_by_transaction"][0]


def _only(
    item: AddPartitionsToTxnTransaction, topics: list[AddPartitionsToTxnTopicResultBody]
) -> AddPartitionsToTxnResponseBody:
    return {"results_by_transaction": [{"transactional_id": item.transactional_id, "topic_results": topics}]}


def _refused(topics: Iterable[AddPartitionsToTxnTopic], code: ErrorCode) -> list[AddPartitionsToTxnTopicResultBody]:
    return [_topic(topic, lambda _: code) for topic in topics]


def _blocked(node: TransactionsNode, topics: Iterable[AddPartitionsToTxnTopic]) -> bool:
    """There is one that nobody can write to: no marker could end the transaction there either."""
    return any(_problem(node, topic.name, index) is not None for topic in topics for index in topic.partitions)


def _problem(node: TransactionsNode, name: str, index: int) -> ErrorCode | None:
    topic = node.image.topics.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.POLICY_VIOLATION if is_linked(topic) else None


def _may_write(node: TransactionsNode, context: RequestContext, topic: str) -> bool:
    """Only coordinators write to internal topics."""
    return topic not in INTERNAL_TOPICS and may(node, context, WRITE, TOPIC, topic)


def _none_added(
    node: TransactionsNode, topics: Iterable[AddPartitionsToTxnTopic], refused: Container[str] = ()
) -> list[AddPartitionsToTxnTopicResultBody]:
    def code(name: str, index: int) -> ErrorCode:
        if name in refused:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return _problem(node, name, index) or ErrorCode.OPERATION_NOT_ATTEMPTED

    return [_topic(topic, partial(code, topic.name)) for topic in topics]


def _topic(topic: AddPartitionsToTxnTopic, code: Callable[[int], ErrorCode]) -> AddPartitionsToTxnTopicResultBody:
    return {
        "name": topic.name,
        "results_by_partition": [
            {"partition_index": index, "partition_error_code": int(code(index))} for index in topic.partitions
        ],
    }
