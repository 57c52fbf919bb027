"""DescribeGroups (15), versions 0-6: the members and the state of classic groups.

Versions: 1 throttle time, 2 throttling by the client (KIP-219), 3 authorized operations (KIP-430), 4 static members
(KIP-345), 5 flexible, 6 GROUP_ID_NOT_FOUND and an error message (KIP-1043).
"""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE, GROUP_REFUSED, operations
from barnabas.broker.coordinator.several import Parts, ask_permitted
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.model.access import AclResourceType
from barnabas.wire import messages

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import (
        DescribeGroupsRequest,
        DescribeGroupsResponseBody,
        DescribeGroupsResponseDescribedGroupBody,
    )


def handle(
    node: GroupsNode, request: DescribeGroupsRequest, context: RequestContext
) -> Answered[DescribeGroupsResponseBody]:
    whole = partial(_with_operations, node, context) if request.include_authorized_operations else _whole
    parts = Parts(str, _part, itemgetter("groups"), whole)
    return ask_permitted(node, request.groups, parts, context, DESCRIBE, _refused)


def _refused(group_id: str) -> DescribeGroupsResponseDescribedGroupBody:
    return {"group_id": group_id, "error_code": GROUP_REFUSED}


def _part(group_ids: list[str]) -> DescribeGroupsRequest:
    return messages.DescribeGroupsRequest(groups=group_ids)


def _whole(groups: list[DescribeGroupsResponseDescribedGroupBody]) -> DescribeGroupsResponseBody:
    return {"groups": groups}


def _with_operations(
    node: GroupsNode, context: RequestContext, groups: list[DescribeGroupsResponseDescribedGroupBody]
) -> DescribeGroupsResponseBody:
    for group in groups:
        if not group["error_code"]:
            group["authorized_operations"] = operations(node, context, AclResourceType.GROUP, group["group_id"])
    return {"groups": groups}
