"""DescribeAcls (29), versions 1-3: the rules that a filter finds, by resource.

A node without an authorizer answers SECURITY_DISABLED, which tools and MirrorMaker 2 know how to take. A filter with
an element that nobody knows closes the connection, as in Kafka.

Versions: 2 flexible, 3 the resource type USER (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.core.access.bindings import AclBinding, AclFilter
from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.errors import ErrorCode
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import AclsNode
    from barnabas.core.access.rules import AclRules
    from barnabas.wire.messages import (
        AclDescriptionBody,
        DeleteAclsFilter,
        DescribeAclsRequest,
        DescribeAclsResponseBody,
    )

CODE, MESSAGE = int(ErrorCode.SECURITY_DISABLED), "No Authorizer is configured."


async def handle(node: AclsNode, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponseBody:
    if node.access is None:
        return {"error_code": CODE, "error_message": MESSAGE, "resources": []}
    resources: dict[tuple[int, int, str], list[AclDescriptionBody]] = {}
    for rule in await matching(node.image.acls, acl_filter(request), LoopBudget()):
        entry: AclDescriptionBody = {
            "principal": rule.principal,
            "host": rule.host,
            "operation": rule.operation,
            "permission_type": rule.permission,
        }
        resources.setdefault(rule.resource, []).append(entry)
    return {
        "error_code": 0,
        "error_message": None,
        "resources": [
            {"resource_type": kind, "resource_name": name, "pattern_type": pattern, "acls": entries}
            for (kind, pattern, name), entries in resources.items()
        ],
    }


async def matching(rules: AclRules, wanted: AclFilter, budget: LoopBudget) -> list[AclBinding]:
    """With others served in between: there may be many rules."""
    found: list[AclBinding] = []
    for number, rule in enumerate(rules.candidates(wanted)):
        if wanted.matches(rule):
            found.append(rule)
        if not number % _RULES_A_LOOK:
            await budget.pause()
    return found


_RULES_A_LOOK = 64  # between two looks at the clock


def acl_filter(wanted: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
    found = AclFilter(
        wanted.resource_type_filter,
        wanted.resource_name_filter,
        wanted.pattern_type_filter,
        wanted.principal_filter,
        wanted.host_filter,
        wanted.operation,
        wanted.permission_type,
    )
    check_known(found.resource_type, found.pattern_type, found.operation, found.permission)
    return found


_NUMBERS = tuple(
    frozenset(map(int, numbers)) - {0} for numbers in (AclResourceType, PatternType, AclOperation, AclPermission)
)


def check_known(*elements: int) -> None:
    """Resource type, pattern type, operation and permission; Kafka's reader of the request refuses unknown ones."""
    if not all(element in known for element, known in zip(elements, _NUMBERS, strict=True)):
        raise ProtocolError(f"an access rule or filter with unknown elements: {elements}")
