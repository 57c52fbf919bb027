"""LeaveGroup (13), versions 0-5: members go at once instead of by timeout (several from v3 on, KIP-345)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.wire.messages import LeaveGroupRequest, LeaveGroupResponseBody


def handle(node: Node, request: LeaveGroupRequest, context: RequestContext) -> Answered[LeaveGroupResponseBody]:
    return node.groups.ask(request.group_id, request, context)
