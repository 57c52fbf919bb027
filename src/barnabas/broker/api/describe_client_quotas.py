"""DescribeClientQuotas (48), versions 0-1: nobody can set a quota, so there are none."""

from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    return {"error_code": 0, "error_message": None, "entries": []}
