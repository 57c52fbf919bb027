"""JoinGroup (11), versions 0-9: a member comes to a classic group; answered when its next generation begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import JoinGroupRequest, JoinGroupResponseBody


def handle(node: GroupsNode, request: JoinGroupRequest, context: RequestContext) -> Answered[JoinGroupResponseBody]:
    return node.groups.ask(request.group_id, request, context)
