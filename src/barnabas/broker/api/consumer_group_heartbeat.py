"""ConsumerGroupHeartbeat (68), versions 0-1: the whole of the new consumer protocol (KIP-848)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.coordinator.protocols import require_consumer_protocol
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    require_consumer_protocol(node)
    return node.groups.ask(request.group_id, request, context)
