"""OffsetDelete (47), version 0: forget a group's offsets of topics it no longer reads (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import OffsetDeleteRequest, OffsetDeleteResponseBody


def handle(
    node: GroupsNode, request: OffsetDeleteRequest, context: RequestContext
) -> Answered[OffsetDeleteResponseBody]:
    return node.groups.ask(request.group_id, request, context)
