"""ConsumerGroupHeartbeat (68), versions 0-1: the whole of the new consumer protocol (KIP-848).

Versions: 1 regular expressions, and member ids made by the client.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE, READ, TOPIC, may, refused, require_group
from barnabas.broker.coordinator.driver import request_info
from barnabas.broker.coordinator.protocols import serves_consumer_protocol
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponseBody


def handle(
    node: GroupsNode, request: ConsumerGroupHeartbeatRequest, context: RequestContext
) -> Answered[ConsumerGroupHeartbeatResponseBody]:
    if not serves_consumer_protocol(node):
        return {"error_code": int(ErrorCode.UNSUPPORTED_VERSION)}
    require_group(node, context, READ, request.group_id)
    if not all(may(node, context, DESCRIBE, TOPIC, name) for name in request.subscribed_topic_names or ()):
        raise refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    if node.access is None:
        return node.groups.ask(request.group_id, request, context)
    may_describe = partial(node.access.allows, context.session, DESCRIBE, TOPIC)
    info = replace(request_info(context), may_describe=may_describe)
    return node.groups.ask_shard(node.groups.hosted_for(request.group_id), request, info)
