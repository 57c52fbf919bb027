"""CreateDelegationToken (38), versions 1-3: a token with which others log in as its owner (KIP-48).

Everybody who has proved who it is may have one for itself; one for another user needs CREATE_TOKENS on that user. The
answer has the HMAC, which is the token's password; the node does not keep it. Answered when the token is in the
metadata log.

Versions: 2 flexible, 3 an owner other than whoever asks, and the requester in the answer (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import CREATE_TOKENS, USER, may
from barnabas.broker.clock import wall_ms
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import Principal
from barnabas.core.access.delegation_tokens import USER_TYPE
from barnabas.core.cluster.access.delegation_tokens import NewToken
from barnabas.core.cluster.controller import Controller
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import ControllerNode
    from barnabas.wire.messages import CreateDelegationTokenRequest, CreateDelegationTokenResponseBody

_NEVER_MS = -1  # Kafka's brokers say so, and its controllers 0
_UNDECIDED_MS = 0


async def handle(
    node: ControllerNode, request: CreateDelegationTokenRequest, context: RequestContext
) -> CreateDelegationTokenResponseBody:
    requester = context.session.principal
    owner = Principal(requester.type, requester.name)
    if request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    problem = _refusal(node, request, context, owner)
    if problem is not None:
        return _answer(owner, requester, problem, _NEVER_MS)
    renewers = [f"{renewer.principal_type}:{renewer.principal_name}" for renewer in request.renewers]
    wanted = NewToken(str(owner), str(requester), renewers, request.max_lifetime_ms)
    try:
        token, hmac = await node.controller.submit(Controller.create_token, wanted, wall_ms())
    except KafkaError as error:
        if error.code is ErrorCode.NOT_CONTROLLER:
            raise
        return _answer(owner, requester, error.code, _UNDECIDED_MS)
    return {
        **_answer(owner, requester, ErrorCode.NONE, _UNDECIDED_MS),
        "issue_timestamp_ms": token.issued_ms,
        "expiry_timestamp_ms": token.expires_ms,
        "max_timestamp_ms": token.max_ms,
        "token_id": token.token_id,
        "hmac": hmac,
    }


def _refusal(
    node: ControllerNode, request: CreateDelegationTokenRequest, context: RequestContext, owner: Principal
) -> ErrorCode | None:
    session = context.session
    if not session.may_use_tokens:
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    is_own = owner[:2] == session.principal[:2]
    if not is_own and not may(node, context, CREATE_TOKENS, USER, str(owner)):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(renewer.principal_type != USER_TYPE for renewer in request.renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return None


def _answer(
    owner: Principal, requester: Principal, code: ErrorCode, times_ms: int
) -> CreateDelegationTokenResponseBody:
    return {
        "error_code": int(code),
        "principal_type": owner.type,
        "principal_name": owner.name,
        "token_requester_principal_type": requester.type,
        "token_requester_principal_name": requester.name,
        "issue_timestamp_ms": times_ms,
        "expiry_timestamp_ms": times_ms,
        "max_timestamp_ms": times_ms,
    }
