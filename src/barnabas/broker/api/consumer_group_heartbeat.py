"""ConsumerGroupHeartbeat (68), versions 0-1: the whole of the new consumer protocol (KIP-848).

Versions: 1 regular expressions, and member ids made by the client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.coordinator.protocols import require_consumer_protocol
from barnabas.broker.network.context import Answered, RequestContext

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponseBody


def handle(
    node: GroupsNode, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> Answered[ConsumerGroupHeartbeatResponseBody]:
    require_consumer_protocol(node)
    return node.groups.ask(request.group_id, request, context)
