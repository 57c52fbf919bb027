"""ConsumerGroupDescribe (69), versions 0-1: the members and assignments of groups of the new protocol."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.operations import GROUP_OPERATIONS
from barnabas.broker.coordinator.protocols import require_consumer_protocol
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    require_consumer_protocol(node)
    also = {"authorized_operations": GROUP_OPERATIONS} if request.include_authorized_operations else None
    return node.groups.ask_each(request, context, asked="group_ids", answered="groups", also=also)
