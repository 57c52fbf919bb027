"""OffsetFetch (9), versions 1-10: where groups stand. Until v7 one group a request, then several."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_SEVERAL_GROUPS_SINCE = 8


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    if context.api_version < _SEVERAL_GROUPS_SINCE:
        return node.groups.ask(request.group_id, request, context)
    return node.groups.ask_each(request, context, asked="groups", answered="groups")
