"""AddOffsetsToTxn (25), versions 0-4: the offsets a group commits become part of a transaction.

Versions: 1 throttling by the client (KIP-219), 2 PRODUCER_FENCED (KIP-588), 3 flexible, 4 TRANSACTION_ABORTABLE
(KIP-890).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import READ, WRITE, require_group, require_transactional_id
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.model.ids import OFFSETS_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TransactionsNode
    from barnabas.wire.messages import AddOffsetsToTxnRequest, AddOffsetsToTxnResponseBody


def handle(
    node: TransactionsNode, request: AddOffsetsToTxnRequest, context: RequestContext
) -> Answered[AddOffsetsToTxnResponseBody]:
    require_transactional_id(node, context, WRITE, request.transactional_id)
    require_group(node, context, READ, request.group_id)
    if node.image.topic(OFFSETS_TOPIC) is None:
        return _after_creating(node, request, context)
    return node.transactions.ask_after_completion(request.transactional_id, request, context)


async def _after_creating(
    node: TransactionsNode, request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponseBody:
    """Where the offsets will be kept: a client of the old generation asks this before it looks for the group."""
    await node.controller_requests.create_internal_topic(OFFSETS_TOPIC)
    answer = node.transactions.ask_after_completion(request.transactional_id, request, context)
    return await answer if isinstance(answer, asyncio.Future) else answer
