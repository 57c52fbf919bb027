"""ExpireDelegationToken (40), versions 1-2: an earlier expiry for a delegation token, or its end at once (KIP-48).

Its owner and its renewers may. A negative period removes the token at once; connections that are logged in with it
go on until it would have expired.

Versions: 2 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.clock import wall_ms
from barnabas.broker.network.context import RequestContext
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import ExpireDelegationTokenRequest, ExpireDelegationTokenResponseBody


async def handle(
    node: ControllerNode, request: ExpireDelegationTokenRequest, context: RequestContext
) -> ExpireDelegationTokenResponseBody:
    if not context.session.may_use_tokens:
        return {"error_code": int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), "expiry_timestamp_ms": -1}
    principal = str(context.session.principal)
    hmac, period_ms = bytes(request.hmac), request.expiry_time_period_ms
    try:
        expires_ms = await node.controller.submit(Controller.expire_token, hmac, principal, period_ms, wall_ms())
    except KafkaError as error:
        if error.code is ErrorCode.NOT_CONTROLLER:
            raise
        return {"error_code": int(error.code), "expiry_timestamp_ms": 0}
    return {"error_code": 0, "expiry_timestamp_ms": expires_ms}
