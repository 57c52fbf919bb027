"""OffsetCommit (8), versions 2-10: how far a group has read; answered when the offsets are in the log.

Versions: 3 throttle time, 4 throttling by the client (KIP-219), 5 no retention time (KIP-211), 6 leader epochs
(KIP-320), 7 static members (KIP-345), 8 flexible, 9 member epochs of the consumer protocol (KIP-848), 10 topics by id.
"""

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
