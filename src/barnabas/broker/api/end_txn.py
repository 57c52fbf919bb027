"""EndTxn (26), versions 0-5: commit or abort; answered when the decision is on disk. v5 moves the epoch (KIP-890)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.wire.messages import EndTxnRequest, EndTxnResponseBody


def handle(node: Node, request: EndTxnRequest, context: RequestContext) -> Answered[EndTxnResponseBody]:
    return node.transactions.ask(request.transactional_id, request, context)
