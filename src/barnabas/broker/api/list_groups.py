"""ListGroups (16), versions 0-5: the groups this node coordinates, filtered by state (v4) and by type (v5)."""

from typing import TYPE_CHECKING, Any

from barnabas.broker.context import RequestContext
from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    try:
        groups = node.groups.list_groups(request.states_filter, request.types_filter)
    except KafkaError as error:
        return {"error_code": int(error.code), "groups": []}
    return {"error_code": 0, "groups": groups}
