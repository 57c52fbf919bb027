"""DeleteAcls (31), versions 1-3: all rules that filters find; the answer names them, filter by filter.

A rule that two filters find is named twice. The rules are looked for before the controller decides, with others served
in between, so one that is created meanwhile stays. A node without an authorizer refuses the filters one by one.

Versions: 2 flexible, 3 the resource type USER (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.describe_acls import CODE, MESSAGE, acl_filter, matching
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.core.access.bindings import AclBinding
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import ACL_MATCHES_PER_REQUEST_MAX

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AclsNode
    from barnabas.wire.messages import (
        DeleteAclsFilterResultBody,
        DeleteAclsMatchingAclBody,
        DeleteAclsRequest,
        DeleteAclsResponseBody,
    )


async def handle(node: AclsNode, request: DeleteAclsRequest, context: RequestContext) -> DeleteAclsResponseBody:
    if node.access is None:
        return {"filter_results": [_refused(CODE, MESSAGE) for _ in request.filters]}
    node.controller.check_active()
    wanted = [acl_filter(each) for each in request.filters]
    rules, budget, left = node.controller.machine.image.acls, LoopBudget(), ACL_MATCHES_PER_REQUEST_MAX
    results: list[DeleteAclsFilterResultBody] = []
    ids: dict[bytes, None] = {}
    for each in wanted:
        found = await matching(rules, each, budget)
        if len(found) > left:
            words = f"more than {ACL_MATCHES_PER_REQUEST_MAX:,} rules in one answer: delete by fewer filters at once"
            results.append(_refused(int(ErrorCode.POLICY_VIOLATION), words))
            continue
        left -= len(found)
        ids.update(dict.fromkeys(rules.ids[rule] for rule in found))
        matches = [_match(rule) for rule in found]
        results.append({"error_code": 0, "error_message": None, "matching_acls": matches})
    if ids:
        await node.controller.submit(Controller.delete_acls, list(ids))
    return {"filter_results": results}


def _refused(code: int, message: str) -> DeleteAclsFilterResultBody:
    return {"error_code": code, "error_message": message, "matching_acls": []}


def _match(rule: AclBinding) -> DeleteAclsMatchingAclBody:
    return {
        "error_code": 0,
        "error_message": None,
        "resource_type": rule.resource_type,
        "resource_name": rule.resource_name,
        "pattern_type": rule.pattern_type,
        "principal": rule.principal,
        "host": rule.host,
        "operation": rule.operation,
        "permission_type": rule.permission,
    }
