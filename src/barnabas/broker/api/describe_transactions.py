"""DescribeTransactions (65), version 0: what the coordinator knows of transactional ids (KIP-664)."""

from __future__ import annotations

import asyncio
from copy import copy
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import KafkaError

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
        part = copy(request)
        part.transactional_ids = [name]
        try:
            answer = node.transactions.ask(name, part, context)
            done = await answer if isinstance(answer, asyncio.Future) else answer
            states += done["transaction_states"]
        except KafkaError as error:
            states.append({"transactional_id": name, "error_code": int(error.code)})
    return {"transaction_states": states}
