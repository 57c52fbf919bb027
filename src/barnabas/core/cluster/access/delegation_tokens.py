"""Delegation tokens that are created, renewed and expired: what the controller accepts, with Kafka's codes.

A change of a token is its whole record once more. Who may ask for what is Kafka's: everybody for themselves, for others
with CREATE_TOKENS (checked before, in broker/api); renewing and expiring is for the owner and the renewers.
An owner is a User: Kafka takes other types too, and lets whoever logs in with such a token be the User of that name.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.core.access.credentials import DelegationToken
from barnabas.core.access.delegation_tokens import USER_TYPE, TokensByHmac, split_principal
from barnabas.core.cluster.image import token_record
from barnabas.core.cluster.records import Record, RemoveDelegationToken
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import uuid_text
from barnabas.model.limits import (
    ACL_TEXT_MAX_CHARS,
    DELEGATION_TOKENS_EXPIRED_AT_ONCE,
    DELEGATION_TOKENS_MAX,
    DELEGATION_TOKENS_PER_OWNER_MAX,
)
from barnabas.model.settings import Settings

SUPPORTED_SINCE = 14  # metadata.version: 3.6-IV2 has the records
_LONG_MAX = 2**63 - 1
Tokens = Mapping[str, DelegationToken]


class TokenTimes(NamedTuple):
    max_lifetime_ms: int  # delegation.token.max.lifetime.ms
    renew_ms: int  # delegation.token.expiry.time.ms


class NewToken(NamedTuple):
    owner: str
    requester: str
    renewers: Sequence[str]
    max_lifetime_ms: int  # 0 or less: as long as the cluster allows


def secret_key(settings: Settings) -> str | None:
    """None: there are no delegation tokens. The second name is the one that Kafka had before 3.0."""
    value = settings["delegation.token.secret.key"] or settings["delegation.token.master.key"]
    return str(value) if value else None


def token_times(settings: Settings) -> TokenTimes:
    return TokenTimes(settings.int("delegation.token.max.lifetime.ms"), settings.int("delegation.token.expiry.time.ms"))


def create(
    known: Tokens, wanted: NewToken, new_id: bytes, times: TokenTimes, now_ms: int
) -> tuple[list[Record], DelegationToken]:
    for principal in (wanted.owner, *wanted.renewers):
        if split_principal(principal)[0] != USER_TYPE:
            raise KafkaError(ErrorCode.INVALID_PRINCIPAL_TYPE, f"{principal[:100]} is not a User")
        if len(principal) > ACL_TEXT_MAX_CHARS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"a principal of more than {ACL_TEXT_MAX_CHARS:,} characters")
    if len(known) >= DELEGATION_TOKENS_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"a cluster has at most {DELEGATION_TOKENS_MAX:,} tokens")
    if sum(token.owner == wanted.owner for token in known.values()) >= DELEGATION_TOKENS_PER_OWNER_MAX:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, f"an owner has at most {DELEGATION_TOKENS_PER_OWNER_MAX:,} tokens")
    lifetime_ms = times.max_lifetime_ms
    if wanted.max_lifetime_ms > 0:
        lifetime_ms = min(lifetime_ms, wanted.max_lifetime_ms)
    max_ms = _sum(now_ms, lifetime_ms)
    expires_ms = min(max_ms, _sum(now_ms, times.renew_ms))
    token = DelegationToken(
        uuid_text(new_id), wanted.owner, wanted.requester, tuple(wanted.renewers), now_ms, max_ms, expires_ms
    )
    return [token_record(token)], token


def renew(
    known: Tokens, by_hmac: TokensByHmac, hmac: bytes, principal: str, period_ms: int, times: TokenTimes, now_ms: int
) -> tuple[list[Record], int]:
    """Gives when it expires now."""
    token = by_hmac.find(known, hmac)
    if token is None:
        raise _not_found()
    if token.has_expired(now_ms):
        raise _expired()
    _check_renewer(token, principal)
    renew_ms = min(times.renew_ms, period_ms) if period_ms > 0 else times.renew_ms
    return _expiring(token, min(token.max_ms, _sum(now_ms, renew_ms)))


def expire(
    known: Tokens, by_hmac: TokensByHmac, hmac: bytes, principal: str, period_ms: int, now_ms: int
) -> tuple[list[Record], int]:
    """After the period, or at once where it is negative; gives when."""
    token = by_hmac.find(known, hmac)
    if token is None:
        raise _not_found()
    _check_renewer(token, principal)
    if period_ms < 0:
        return [RemoveDelegationToken(token_id=token.token_id)], now_ms
    if token.has_expired(now_ms):
        raise _expired()
    return _expiring(token, min(token.max_ms, _sum(now_ms, period_ms)))


def remove_expired(known: Tokens, now_ms: int) -> tuple[list[Record], int]:
    """Some of the tokens whose time is over; gives how many."""
    over = [token_id for token_id, token in known.items() if token.has_expired(now_ms)]
    over = over[:DELEGATION_TOKENS_EXPIRED_AT_ONCE]
    return [RemoveDelegationToken(token_id=token_id) for token_id in over], len(over)


def _expiring(token: DelegationToken, expires_ms: int) -> tuple[list[Record], int]:
    return [token_record(token._replace(expires_ms=expires_ms))], expires_ms


def _check_renewer(token: DelegationToken, principal: str) -> None:
    if not token.may_be_renewed_by(principal):
        raise KafkaError(ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, "neither the owner of the token nor a renewer")


def _not_found() -> KafkaError:
    return KafkaError(ErrorCode.DELEGATION_TOKEN_NOT_FOUND, "no token has this HMAC")


def _expired() -> KafkaError:
    return KafkaError(ErrorCode.DELEGATION_TOKEN_EXPIRED, "the token has expired")


def _sum(now_ms: int, period_ms: int) -> int:
    return min(_LONG_MAX, now_ms + period_ms)
