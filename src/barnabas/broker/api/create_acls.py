"""CreateAcls (30), versions 1-3: refused one by one, as by a Kafka without an authorizer."""

from typing import TYPE_CHECKING, Any

from barnabas.broker.api.describe_acls import DISABLED
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    return {"results": [DISABLED for _ in request.creations]}
