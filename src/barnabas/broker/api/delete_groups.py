"""DeleteGroups (42), versions 0-2: forget groups that have no members, with their offsets.

Versions: 1 throttling by the client (KIP-219), 2 flexible.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DELETE, GROUP_REFUSED
from barnabas.broker.coordinator.several import Parts, ask_permitted
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.wire import messages

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import DeletableGroupResultBody, DeleteGroupsRequest, DeleteGroupsResponseBody


def handle(
    node: GroupsNode, request: DeleteGroupsRequest, context: RequestContext
) -> Answered[DeleteGroupsResponseBody]:
    return ask_permitted(node, request.groups_names, _PARTS, context, DELETE, _refused)


def _refused(group_id: str) -> DeletableGroupResultBody:
    return {"group_id": group_id, "error_code": GROUP_REFUSED}


def _part(group_ids: list[str]) -> DeleteGroupsRequest:
    return messages.DeleteGroupsRequest(groups_names=group_ids)


def _whole(results: list[DeletableGroupResultBody]) -> DeleteGroupsResponseBody:
    return {"results": results}


_PARTS = Parts(str, _part, itemgetter("results"), _whole)
