"""OffsetCommit (8), versions 2-10: how far a group has read; answered when the offsets are in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import OffsetCommitRequest, OffsetCommitResponseBody


def handle(
    node: GroupsNode, request: OffsetCommitRequest, context: RequestContext
) -> Answered[OffsetCommitResponseBody]:
    return node.groups.ask(request.group_id, request, context)
