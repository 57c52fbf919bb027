"""ConsumerGroupDescribe (69), versions 0-1: the members and assignments of groups of the new protocol.

Versions: 1 whether a member speaks the classic protocol.
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE, GROUP_REFUSED, TOPIC, TOPIC_REFUSED, may, operations
from barnabas.broker.coordinator.protocols import serves_consumer_protocol
from barnabas.broker.coordinator.several import Parts, ask_permitted
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.model.access import AclResourceType
from barnabas.model.errors import ErrorCode
from barnabas.wire import messages

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import (
        ConsumerGroupDescribeRequest,
        ConsumerGroupDescribeResponseBody,
        ConsumerGroupDescribeResponseDescribedGroupBody,
    )


def handle(
    node: GroupsNode, request: ConsumerGroupDescribeRequest, context: RequestContext
) -> Answered[ConsumerGroupDescribeResponseBody]:
    if not serves_consumer_protocol(node):
        off = int(ErrorCode.UNSUPPORTED_VERSION)
        return {"groups": [{"group_id": group_id, "error_code": off} for group_id in request.group_ids]}
    whole = partial(_whole, node, context, request.include_authorized_operations)
    parts = Parts(str, _part, itemgetter("groups"), whole)
    return ask_permitted(node, request.group_ids, parts, context, DESCRIBE, _refused)


def _refused(group_id: str) -> ConsumerGroupDescribeResponseDescribedGroupBody:
    return {"group_id": group_id, "error_code": GROUP_REFUSED}


def _part(group_ids: list[str]) -> ConsumerGroupDescribeRequest:
    return messages.ConsumerGroupDescribeRequest(group_ids=group_ids)


def _whole(
    node: GroupsNode,
    context: RequestContext,
    with_operations: bool,
    groups: list[ConsumerGroupDescribeResponseDescribedGroupBody],
) -> ConsumerGroupDescribeResponseBody:
    for group in groups:
        if with_operations and not group["error_code"]:
            group["authorized_operations"] = operations(node, context, AclResourceType.GROUP, group["group_id"])
    if node.access is None:
        return {"groups": groups}
    return {"groups": [group if _may_see(node, context, group) else _hidden(group["group_id"]) for group in groups]}


def _may_see(node: GroupsNode, context: RequestContext, group: ConsumerGroupDescribeResponseDescribedGroupBody) -> bool:
    """Nobody learns of topics from a group that may not describe them."""
    topics = {
        each["topic_name"]
        for member in group.get("members", ())
        for assignment in (member["assignment"], member["target_assignment"])
        for each in assignment["topic_partitions"]
    }
    return all(may(node, context, DESCRIBE, TOPIC, name) for name in topics)


def _hidden(group_id: str) -> ConsumerGroupDescribeResponseDescribedGroupBody:
    words = "The group has described topic(s) that the client is not authorized to describe."
    return {"group_id": group_id, "error_code": TOPIC_REFUSED, "error_message": words}
