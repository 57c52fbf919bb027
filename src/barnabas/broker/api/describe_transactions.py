"""DescribeTransactions (65), version 0: what the coordinator knows of transactional ids (KIP-664)."""

from __future__ import annotations

import asyncio
from copy import copy
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE, TOPIC, TRANSACTIONAL_ID, may, sees
from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TransactionsNode
    from barnabas.wire.messages import (
        DescribeTransactionsRequest,
        DescribeTransactionsResponseBody,
        DescribeTransactionsResponseTransactionStateBody,
    )


async def handle(
    node: TransactionsNode, request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponseBody:
    states: list[DescribeTransactionsResponseTransactionStateBody] = []
    for name in request.transactional_ids:
        if not may(node, context, DESCRIBE, TRANSACTIONAL_ID, name):
            refused = int(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
            states.append({"transactional_id": name, "error_code": refused})
            continue
        part = copy(request)
        part.transactional_ids = [name]
        try:
            answer = node.transactions.ask(name, part, context)
            done = await answer if isinstance(answer, asyncio.Future) else answer
            states += [_seen(node, context, state) for state in done["transaction_states"]]
        except KafkaError as error:
            states.append({"transactional_id": name, "error_code": int(error.code)})
    return {"transaction_states": states}


def _seen(
    node: TransactionsNode, context: RequestContext, state: DescribeTransactionsResponseTransactionStateBody
) -> DescribeTransactionsResponseTransactionStateBody:
    """Without the topics that whoever asks may not describe."""
    if node.access is None:
        return state
    topics = [topic for topic in state.get("topics", ()) if sees(node, context, DESCRIBE, TOPIC, topic["topic"])]
    return {**state, "topics": topics}
