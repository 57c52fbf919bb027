"""DescribeGroups (15), versions 0-6: the members and the state of classic groups."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.api.operations import GROUP_OPERATIONS
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    also = {"authorized_operations": GROUP_OPERATIONS} if request.include_authorized_operations else None
    return node.groups.ask_each(request, context, asked="groups", answered="groups", also=also)
