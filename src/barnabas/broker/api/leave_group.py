"""LeaveGroup (13), versions 0-5: members go at once instead of by timeout (several from v3 on, KIP-345).

Versions: 1 throttle time, 2 throttling by the client (KIP-219), 3 several members and static ones (KIP-345), 4
flexible, 5 a reason (KIP-800).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import READ, require_group
from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import LeaveGroupRequest, LeaveGroupResponseBody


def handle(node: GroupsNode, request: LeaveGroupRequest, context: RequestContext) -> Answered[LeaveGroupResponseBody]:
    require_group(node, context, READ, request.group_id)
    return node.groups.ask(request.group_id, request, context)
