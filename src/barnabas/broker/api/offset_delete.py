"""OffsetDelete (47), version 0: forget a group's offsets of topics it no longer reads (KIP-496)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    return node.groups.ask(request.group_id, request, context)
