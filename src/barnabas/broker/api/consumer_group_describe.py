"""ConsumerGroupDescribe (69), versions 0-1: the members and assignments of groups of the new protocol.

Versions: 1 whether a member speaks the classic protocol.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from barnabas.broker.api.operations import GROUP_OPERATIONS
from barnabas.broker.coordinator.protocols import require_consumer_protocol
from barnabas.broker.coordinator.several import Parts, ask_each
from barnabas.broker.network.context import Answered, RequestContext
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
    require_consumer_protocol(node)
    whole = _with_operations if request.include_authorized_operations else _whole
    return ask_each(node.groups, request.group_ids, Parts(str, _part, itemgetter("groups"), whole), context)


def _part(group_ids: list[str]) -> ConsumerGroupDescribeRequest:
    return messages.ConsumerGroupDescribeRequest(group_ids=group_ids)


def _whole(groups: list[ConsumerGroupDescribeResponseDescribedGroupBody]) -> ConsumerGroupDescribeResponseBody:
    return {"groups": groups}


def _with_operations(
    groups: list[ConsumerGroupDescribeResponseDescribedGroupBody],
) -> ConsumerGroupDescribeResponseBody:
    for group in groups:
        if not group["error_code"]:
            group["authorized_operations"] = GROUP_OPERATIONS
    return {"groups": groups}
