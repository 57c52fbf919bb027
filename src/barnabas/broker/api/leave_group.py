"""LeaveGroup (13), versions 0-5: members go at once instead of by timeout (several from v3 on, KIP-345)."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    return node.groups.ask(request.group_id, request, context)
