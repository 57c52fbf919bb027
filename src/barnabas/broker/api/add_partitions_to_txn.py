"""AddPartitionsToTxn (24), versions 0-5: partitions a transaction writes to.

Until v3 a client of the old generation names them before it writes. From v4 on leaders of partitions ask on behalf of
their producers, several transactions at once (KIP-890). Unknown topics are refused here, and then nothing of that
transaction is added.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget, in_turns
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import INTERNAL_TOPICS

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_SEVERAL_SINCE = 4
_Pending = tuple[Any, dict[str, Any] | asyncio.Future[dict[str, Any]]]


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    if context.api_version >= _SEVERAL_SINCE:
        return _several(node, request, context)
    topics = request.v3_and_below_topics
    if _unknown(node, topics) or any(topic.name in INTERNAL_TOPICS for topic in topics):
        return {"results_by_topic_v3_and_below": _none_added(node, topics, of_client=True)}
    try:
        return node.transactions.ask_after_completion(request.v3_and_below_transactional_id, request, context)
    except KafkaError as error:
        return {"results_by_topic_v3_and_below": [_topic(topic, lambda _, c=error.code: c) for topic in topics]}


async def _several(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    """Each coordinator has its own part; all are asked before the first is waited for. There may be thousands: others
    are served in between."""
    answers = await in_turns(request.transactions, lambda item: _one(node, request, item, context))
    results, budget = [], LoopBudget()
    for answer in answers:
        results.append(await _result(answer))
        await budget.pause()
    return {"error_code": 0, "results_by_transaction": results}


def _one(node: "Node", request: Any, item: Any, context: RequestContext) -> _Pending:
    name = item.transactional_id
    if _unknown(node, item.topics):
        return item, {"transactional_id": name, "topic_results": _none_added(node, item.topics)}
    part = copy(request)
    part.transactions = [item]
    try:
        return item, node.transactions.ask_after_completion(name, part, context)
    except KafkaError as error:
        return item, _refused(item, error.code)


async def _result(pending: _Pending) -> dict[str, Any]:
    item, answer = pending
    if isinstance(answer, asyncio.Future):
        try:
            answer = await answer
        except KafkaError as error:
            return _refused(item, error.code)
    return answer["results_by_transaction"][0] if "results_by_transaction" in answer else answer


def _refused(item: Any, code: ErrorCode) -> dict[str, Any]:
    refused = [_topic(topic, lambda _: code) for topic in item.topics]
    return {"transactional_id": item.transactional_id, "topic_results": refused}


def _unknown(node: "Node", topics: Iterable[Any]) -> bool:
    return any(node.image.partition(topic.name, index) is None for topic in topics for index in topic.partitions)


def _none_added(node: "Node", topics: Iterable[Any], *, of_client: bool = False) -> list[dict[str, Any]]:
    def code(topic: Any, index: int) -> ErrorCode:
        if of_client and topic.name in INTERNAL_TOPICS:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED  # only coordinators write there
        known = node.image.partition(topic.name, index) is not None
        return ErrorCode.OPERATION_NOT_ATTEMPTED if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    return [_topic(topic, lambda index, t=topic: code(t, index)) for topic in topics]


def _topic(topic: Any, code: Any) -> dict[str, Any]:
    return {
        "name": topic.name,
        "results_by_partition": [
            {"partition_index": index, "partition_error_code": int(code(index))} for index in topic.partitions
        ],
    }
