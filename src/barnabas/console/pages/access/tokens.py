"""Delegation tokens (KIP-48): list, create, renew, expire. The HMAC, a token's password, is shown once."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.pages.access.asking import check
from barnabas.console.problems import NotFound, Problem
from barnabas.console.web.calls import Call, Route
from barnabas.wire.apis import (
    CREATE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    EXPIRE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
)

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        CreateDelegationTokenResponse,
        DescribedDelegationToken,
        DescribeDelegationTokenResponse,
        ExpireDelegationTokenResponse,
        RenewDelegationTokenResponse,
    )

_HOURS_MAX = 24 * 365 * 10
_HOUR_MS = 3_600_000
_AS_LONG_AS_ALLOWED = _AT_ONCE = -1


class _New(msgspec.Struct):
    owner: str = ""  # else whoever asks
    renewers: list[str] = []
    hours: float | None = None  # how long it can be renewed at most


async def list_tokens(call: Call) -> object:
    return [_shown(each) for each in await _tokens(call)]


async def _tokens(call: Call) -> list[DescribedDelegationToken]:
    answer: DescribeDelegationTokenResponse = await call.nodes.ask_any(DESCRIBE_DELEGATION_TOKEN, {"owners": None})
    check(answer.error_code, "the tokens are not listed")
    return sorted(answer.tokens, key=lambda each: -each.issue_timestamp)


def _shown(token: DescribedDelegationToken) -> dict[str, object]:
    """Without the HMAC: a list is not a place for passwords."""
    return {
        "id": token.token_id,
        "owner": token.principal_name,
        "requester": token.token_requester_principal_name,
        "renewers": [each.principal_name for each in token.renewers],
        "issued_ms": token.issue_timestamp,
        "expires_ms": token.expiry_timestamp,
        "max_ms": token.max_timestamp,
    }


async def create(call: Call) -> object:
    asked = await call.body(_New)
    if asked.hours is not None and not 0 < asked.hours <= _HOURS_MAX:
        raise Problem(f"a token lives for up to {_HOURS_MAX} hours")
    if len(asked.renewers) > 100:
        raise Problem("at most 100 renewers")
    body = {
        "owner_principal_type": "User" if asked.owner else None,
        "owner_principal_name": asked.owner.removeprefix("User:") or None,
        "renewers": [{"principal_type": "User", "principal_name": each} for each in asked.renewers],
        "max_lifetime_ms": _AS_LONG_AS_ALLOWED if asked.hours is None else int(asked.hours * _HOUR_MS),
    }
    answer: CreateDelegationTokenResponse = await call.nodes.ask_any(CREATE_DELEGATION_TOKEN, body)
    check(answer.error_code, "no token was made")
    call.names += [answer.token_id, f"of {answer.principal_name}"]
    return {
        "id": answer.token_id,
        "owner": answer.principal_name,
        "hmac": base64.b64encode(bytes(answer.hmac)).decode(),
        "expires_ms": answer.expiry_timestamp_ms,
    }


async def renew(call: Call) -> object:
    token = await _found(call)
    body = {"hmac": bytes(token.hmac), "renew_period_ms": _AS_LONG_AS_ALLOWED}
    answer: RenewDelegationTokenResponse = await call.nodes.ask_any(RENEW_DELEGATION_TOKEN, body)
    check(answer.error_code, "the token was not renewed")
    return {"expires_ms": answer.expiry_timestamp_ms}


async def expire(call: Call) -> object:
    token = await _found(call)
    body = {"hmac": bytes(token.hmac), "expiry_time_period_ms": _AT_ONCE}
    answer: ExpireDelegationTokenResponse = await call.nodes.ask_any(EXPIRE_DELEGATION_TOKEN, body)
    check(answer.error_code, "the token was not ended")
    return {}


async def _found(call: Call) -> DescribedDelegationToken:
    wanted = call.path("token")
    for each in await _tokens(call):
        if each.token_id == wanted:
            return each
    raise NotFound("there is no such token that you may see")


ROUTES = [
    Route("GET", "/access/tokens", list_tokens),
    Route("POST", "/access/tokens", create, change="create a token"),
    Route("POST", "/access/tokens/{token}/renew", renew, change="renew a token"),
    Route("DELETE", "/access/tokens/{token}", expire, change="end a token"),
]
