"""ListGroups (16), versions 0-5: the groups this node coordinates, filtered by state (v4) and by type (v5).

Versions: 1 throttle time, 2 throttling by the client (KIP-219), 3 flexible, 4 states (KIP-518), 5 types (KIP-848).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE, GROUP, may_on_cluster, sees
from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import ListGroupsRequest, ListGroupsResponseBody

# Every state and type a group can have, as a filter names them, in small letters.
_NAMES = frozenset(
    {"preparingrebalance", "completingrebalance", "stable", "dead", "empty", "assigning", "reconciling", "notready"}
    | {"unknown", "classic", "consumer", "share", "streams"}
)


async def handle(node: GroupsNode, request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponseBody:
    try:
        groups = await node.groups.list_groups(_known(request.states_filter), _known(request.types_filter))
    except KafkaError as error:
        return {"error_code": int(error.code), "groups": []}
    if not may_on_cluster(node, context, DESCRIBE):
        groups = [group for group in groups if sees(node, context, DESCRIBE, GROUP, group["group_id"])]
    return {"error_code": 0, "groups": groups}


def _known(names: list[str]) -> list[str]:
    """A filter without repetitions and names that nothing has: every shard compares with all of it. What is left of
    one that matches nothing still matches nothing."""
    return [*({name.lower() for name in names} & _NAMES), ""] if names else []
