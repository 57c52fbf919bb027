"""RenewDelegationToken (39), versions 1-2: another expiry for a delegation token, up to its maximum lifetime (KIP-48).

Its owner and its renewers may, whom the HMAC proves to have it.

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
    from barnabas.wire.messages import RenewDelegationTokenRequest, RenewDelegationTokenResponseBody


async def handle(
    node: ControllerNode, request: RenewDelegationTokenRequest, context: RequestContext
) -> RenewDelegationTokenResponseBody:
    if not context.session.may_use_tokens:
        return {"error_code": int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), "expiry_timestamp_ms": -1}
    principal = str(context.session.principal)
    hmac, period_ms = bytes(request.hmac), request.renew_period_ms
    try:
        expires_ms = await node.controller.submit(Controller.renew_token, hmac, principal, period_ms, wall_ms())
    except KafkaError as error:
        if error.code is ErrorCode.NOT_CONTROLLER:
            raise
        return {"error_code": int(error.code), "expiry_timestamp_ms": 0}
    return {"error_code": 0, "expiry_timestamp_ms": expires_ms}
