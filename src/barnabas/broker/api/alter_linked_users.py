"""AlterLinkedUsers (10002), version 0: users that a link brings over, and their changed passwords, to be written.

An API of our own, from the node that keeps a link's users like the source's (broker/cluster_links/users.py) to the
active controller; no client may use it. AlterUserScramCredentials takes salted passwords, which nobody keeps: here are
the keys that are made from them. Version 0 is flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import CLUSTER_ACTION, refused_on_cluster
from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.access.linked_users import UserKeys
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import AlterLinkedUsersRequest, AlterLinkedUsersResponseBody


async def handle(
    node: ControllerNode, request: AlterLinkedUsersRequest, context: RequestContext
) -> AlterLinkedUsersResponseBody:
    if not context.session.of_node:
        raise refused_on_cluster(node, context, CLUSTER_ACTION)
    if not request.source_cluster_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "users of a link need the id of the cluster that they are from")
    keys = [
        UserKeys(
            each.user,
            each.mechanism,
            each.iterations,
            bytes(each.salt),
            bytes(each.stored_key),
            bytes(each.server_key),
        )
        for each in request.keys
    ]
    super_users = frozenset[str]() if node.access is None else node.access.super_users
    results = await node.controller.submit(Controller.bring_users_over, keys, request.source_cluster_id, super_users)
    return {
        "error_code": 0,
        "error_message": None,
        "results": [
            {"user": result.user, "error_code": int(result.error), "error_message": result.message}
            for result in results
        ],
    }
