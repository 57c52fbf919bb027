"""SaslAuthenticate (36), versions 0-2: one message of the mechanism that SaslHandshake has named (KIP-152).

A refusal is SASL_AUTHENTICATION_FAILED with a text for a person; it comes late, and the connection is closed behind it
(KIP-306). A listener without SASL answers ILLEGAL_SASL_STATE.

Versions: 1 for how long the login counts (KIP-368), 2 flexible.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from barnabas.broker.network.context import RequestContext
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import SaslAuthenticateRequest, SaslAuthenticateResponseBody

_NOT_NOW = "SaslAuthenticate request received after successful authentication"  # Kafka's words


def handle(
    node: object, request: SaslAuthenticateRequest, context: RequestContext
) -> SaslAuthenticateResponseBody | Awaitable[SaslAuthenticateResponseBody]:
    login = context.session.login
    if login is None:
        return {"error_code": int(ErrorCode.ILLEGAL_SASL_STATE), "error_message": _NOT_NOW, "auth_bytes": b""}
    try:
        result = login.step(bytes(request.auth_bytes), int(time.time() * 1000))
    except KafkaError as error:
        return _refusal(error)
    return _later(result) if isinstance(result, Awaitable) else _answer(*result)


async def _later(result: Awaitable[tuple[bytes, int]]) -> SaslAuthenticateResponseBody:
    try:
        return _answer(*await result)
    except KafkaError as error:
        return _refusal(error)


def _answer(reply: bytes, lifetime_ms: int) -> SaslAuthenticateResponseBody:
    return {"error_code": 0, "error_message": None, "auth_bytes": reply, "session_lifetime_ms": lifetime_ms}


def _refusal(error: KafkaError) -> SaslAuthenticateResponseBody:
    return {"error_code": int(error.code), "error_message": error.message, "auth_bytes": b""}
