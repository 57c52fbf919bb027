"""CreateAcls (30), versions 1-3: refused one by one, as by a Kafka without an authorizer.

Versions: 2 flexible, 3 the resource type USER (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.describe_acls import CODE, MESSAGE
from barnabas.broker.network.context import RequestContext

if TYPE_CHECKING:
    from barnabas.wire.messages import CreateAclsRequest, CreateAclsResponseBody


def handle(node: object, request: CreateAclsRequest, context: RequestContext) -> CreateAclsResponseBody:
    return {"results": [{"error_code": CODE, "error_message": MESSAGE} for _ in request.creations]}
