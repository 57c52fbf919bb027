"""DescribeDelegationToken (41), versions 1-3: the delegation tokens that whoever asks may see (KIP-48).

Those are the tokens that it owns, has asked for or may renew, and those that a rule lets it see: DESCRIBE on the token
or DESCRIBE_TOKENS on its owner. With `owners`, only those that concern one of them; an empty list is none.

Versions: 2 flexible, 3 the requester of each token (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DELEGATION_TOKEN, DESCRIBE, DESCRIBE_TOKENS, USER, sees
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.access.credentials import DelegationToken
from barnabas.core.access.delegation_tokens import split_principal, token_hmac
from barnabas.core.cluster.access.delegation_tokens import secret_key
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.broker.api.roles import TokensNode
    from barnabas.wire.messages import (
        DescribedDelegationTokenBody,
        DescribeDelegationTokenRequest,
        DescribeDelegationTokenResponseBody,
    )


async def handle(
    node: TokensNode, request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponseBody:
    if not context.session.may_use_tokens:
        return {"error_code": int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED), "tokens": []}
    secret = secret_key(node.settings)
    if secret is None:
        return {"error_code": int(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED), "tokens": []}
    owners: set[str] | None = None
    if request.owners is not None:
        owners = {f"{owner.principal_type}:{owner.principal_name}" for owner in request.owners}
    principal = str(context.session.principal)

    def described(token: DelegationToken) -> DescribedDelegationTokenBody | None:
        if owners is not None and owners.isdisjoint((token.owner, token.requester, *token.renewers)):
            return None
        if not token.concerns(principal) and not _is_shown(node, context, token):
            return None
        return _body(token, token_hmac(secret, token.token_id))

    tokens = node.image.tokens.values() if owners is None or owners else ()
    found = await in_turns(tokens, described)
    return {"error_code": 0, "tokens": [token for token in found if token is not None]}


def _is_shown(node: TokensNode, context: RequestContext, token: DelegationToken) -> bool:
    return sees(node, context, DESCRIBE, DELEGATION_TOKEN, token.token_id) or sees(
        node, context, DESCRIBE_TOKENS, USER, token.owner
    )


def _body(token: DelegationToken, hmac: bytes) -> DescribedDelegationTokenBody:
    owner_type, owner_name = split_principal(token.owner)
    requester_type, requester_name = split_principal(token.requester)
    renewers = [split_principal(renewer) for renewer in token.renewers]
    return {
        "principal_type": owner_type,
        "principal_name": owner_name,
        "token_requester_principal_type": requester_type,
        "token_requester_principal_name": requester_name,
        "issue_timestamp": token.issued_ms,
        "expiry_timestamp": token.expires_ms,
        "max_timestamp": token.max_ms,
        "token_id": token.token_id,
        "hmac": hmac,
        "renewers": [{"principal_type": kind, "principal_name": name} for kind, name in renewers],
    }
