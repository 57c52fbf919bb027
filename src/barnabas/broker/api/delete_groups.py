"""DeleteGroups (42), versions 0-2: forget groups that have no members, with their offsets."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    return node.groups.ask_each(request, context, asked="groups_names", answered="results")
