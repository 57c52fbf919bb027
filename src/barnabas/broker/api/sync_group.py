"""SyncGroup (14), versions 0-5: a member asks for its assignment; answered when the group's leader has given it.

Versions: 1 throttle time, 2 throttling by the client (KIP-219), 3 static members (KIP-345), 4 flexible, 5 the
protocol's type and name (KIP-559).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import READ, require_group
from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import SyncGroupRequest, SyncGroupResponseBody


def handle(node: GroupsNode, request: SyncGroupRequest, context: RequestContext) -> Answered[SyncGroupResponseBody]:
    require_group(node, context, READ, request.group_id)
    return node.groups.ask(request.group_id, request, context)
