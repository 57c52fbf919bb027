"""DescribeAcls (29), versions 1-3: there is no access control here, and the answer is that of a Kafka without an
authorizer, which tools and MirrorMaker 2 know how to take.

Versions: 2 flexible, 3 the resource type USER (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeAclsRequest, DescribeAclsResponseBody

CODE, MESSAGE = int(ErrorCode.SECURITY_DISABLED), "No Authorizer is configured."


def handle(node: object, request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponseBody:
    return {"error_code": CODE, "error_message": MESSAGE, "resources": []}
