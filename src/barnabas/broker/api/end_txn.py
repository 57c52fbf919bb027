"""EndTxn (26), versions 0-5: commit or abort; answered when the decision is on disk. v5 moves the epoch (KIP-890)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    return node.transactions.ask(request.transactional_id, request, context)
