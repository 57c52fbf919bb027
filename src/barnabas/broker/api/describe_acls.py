"""DescribeAcls (29), versions 1-3: there is no access control here, and the answer is that of a Kafka without an
authorizer, which tools and MirrorMaker 2 know how to take.
"""

from typing import TYPE_CHECKING, Any

from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.node import Node

DISABLED = {"error_code": int(ErrorCode.SECURITY_DISABLED), "error_message": "No Authorizer is configured."}


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    return DISABLED | {"resources": []}
