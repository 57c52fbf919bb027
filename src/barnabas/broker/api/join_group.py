"""JoinGroup (11), versions 0-9: a member comes to a classic group; answered when its next generation begins."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    return node.groups.ask(request.group_id, request, context)
