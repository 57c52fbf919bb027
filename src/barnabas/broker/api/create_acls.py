"""CreateAcls (30), versions 1-3: rules for the cluster; each of a request has its own fate.

Answered when the rules are in the metadata log. A node without an authorizer refuses them one by one. What rule is
refused, and why, is in core/cluster/access/acls.py; an element that nobody knows closes the connection, as in Kafka.

Versions: 2 flexible, 3 the resource type USER (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.describe_acls import CODE, MESSAGE, check_known
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.access.bindings import AclBinding
from barnabas.core.cluster.controller import Controller

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AclsNode
    from barnabas.wire.messages import AclCreation, CreateAclsRequest, CreateAclsResponseBody


async def handle(node: AclsNode, request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponseBody:
    if node.access is None:
        return {"results": [{"error_code": CODE, "error_message": MESSAGE} for _ in request.creations]}
    wanted = await in_turns(request.creations, _rule)
    results = await node.controller.submit(Controller.create_acls, wanted)
    return {
        "results": [
            {"error_code": 0, "error_message": None}
            if error is None
            else {"error_code": int(error.code), "error_message": error.message}
            for error in results
        ]
    }


def _rule(wanted: AclCreation) -> AclBinding:
    check_known(wanted.resource_type, wanted.resource_pattern_type, wanted.operation, wanted.permission_type)
    return AclBinding(
        wanted.resource_type,
        wanted.resource_name,
        wanted.resource_pattern_type,
        wanted.principal,
        wanted.host,
        wanted.operation,
        wanted.permission_type,
    )
