"""JoinGroup (11), versions 0-9: a member comes to a classic group; answered when its next generation begins.

Versions: 1 a rebalance timeout, 2 throttle time, 3 throttling by the client (KIP-219), 4 a member id is given before
the member joins (KIP-394), 5 static members (KIP-345), 6 flexible, 7 the protocol type (KIP-559), 8 a reason
(KIP-800), 9 a leader that returns may skip the assignment (KIP-814).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import GROUP, READ, may
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import JoinGroupRequest, JoinGroupResponseBody


def handle(node: GroupsNode, request: JoinGroupRequest, context: RequestContext) -> Answered[JoinGroupResponseBody]:
    if not may(node, context, READ, GROUP, request.group_id):
        from barnabas.core.groups.classic.answers import join_refusal  # loaded when the first client comes to a group

        return join_refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, "", context.api_version)
    return node.groups.ask(request.group_id, request, context)
