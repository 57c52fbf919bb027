"""Heartbeat (12), versions 0-4: a member of a classic group is alive, and hears whether the group rebalances.

Versions: 1 throttle time, 2 throttling by the client (KIP-219), 3 static members (KIP-345), 4 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import READ, require_group
from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import HeartbeatRequest, HeartbeatResponseBody


def handle(node: GroupsNode, request: HeartbeatRequest, context: RequestContext) -> Answered[HeartbeatResponseBody]:
    require_group(node, context, READ, request.group_id)
    return node.groups.ask(request.group_id, request, context)
