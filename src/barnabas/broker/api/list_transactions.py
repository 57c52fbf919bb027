"""ListTransactions (66), versions 0-2: the transactions this node coordinates.

Filtered by state and producer, from v1 on by how long they have been open, from v2 on by a pattern of their ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE, TRANSACTIONAL_ID, sees
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TransactionsNode
    from barnabas.wire.messages import ListTransactionsRequest, ListTransactionsResponseBody


async def handle(
    node: TransactionsNode, request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponseBody:
    answers = await node.transactions.ask_everywhere(request, context)
    for answer in answers:
        if answer["error_code"]:
            return answer
    states = [state for answer in answers for state in answer["transaction_states"]]
    if node.access is not None:
        states = [
            state for state in states if sees(node, context, DESCRIBE, TRANSACTIONAL_ID, state["transactional_id"])
        ]
    unknown = dict.fromkeys(name for answer in answers for name in answer.get("unknown_state_filters", ()))
    return {
        "error_code": 0,
        "unknown_state_filters": list(unknown),
        "transaction_states": states,
    }
