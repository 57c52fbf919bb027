"""SaslHandshake (17), versions 0-1: the client names the mechanism by which it logs in (KIP-43).

A listener without SASL answers ILLEGAL_SASL_STATE.

Versions: 1 the mechanism's messages travel in SaslAuthenticate (KIP-152); before, they follow bare behind a length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import SaslHandshakeRequest, SaslHandshakeResponseBody

_FRAMED_SINCE = 1


def handle(node: object, request: SaslHandshakeRequest, context: RequestContext) -> SaslHandshakeResponseBody:
    login = context.session.login
    if login is None:
        return {"error_code": int(ErrorCode.ILLEGAL_SASL_STATE), "mechanisms": []}
    try:
        login.begin(request.mechanism, bare=context.api_version < _FRAMED_SINCE)
    except KafkaError as error:
        return {"error_code": int(error.code), "mechanisms": list(login.mechanisms)}
    return {"error_code": 0, "mechanisms": list(login.mechanisms)}
