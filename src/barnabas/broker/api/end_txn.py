"""EndTxn (26), versions 0-5: commit or abort; answered when the decision is on disk. v5 moves the epoch (KIP-890).

Versions: 1 throttling by the client (KIP-219), 2 PRODUCER_FENCED (KIP-588), 3 flexible, 4 TRANSACTION_ABORTABLE, 5 a
new epoch for each transaction (KIP-890).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import WRITE, require_transactional_id
from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TransactionsNode
    from barnabas.wire.messages import EndTxnRequest, EndTxnResponseBody


def handle(node: TransactionsNode, request: EndTxnRequest, context: RequestContext) -> Answered[EndTxnResponseBody]:
    require_transactional_id(node, context, WRITE, request.transactional_id)
    return node.transactions.ask(request.transactional_id, request, context)
