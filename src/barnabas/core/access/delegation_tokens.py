"""Delegation tokens (KIP-48, KIP-373): what the cluster keeps of one, and what follows from the secret key.

Nothing secret is kept: the HMAC of a token, which is its password, is made from its id and
`delegation.token.secret.key`, which every node has in its settings. A client logs in by SCRAM with the token's id as
its name and the HMAC in base64 as its password.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.core.access.credentials import DelegationToken, ScramCredential

USER_TYPE = "User"
_DIGEST = "sha512"  # Kafka's HmacSHA512


class TokenCredential(NamedTuple):
    """What a login with a token is checked by."""

    user: str
    expires_ms: int
    credential: ScramCredential


def token_hmac(secret: str, token_id: str) -> bytes:
    return hmac.digest(secret.encode(), token_id.encode(), _DIGEST)


def token_password(secret: str, token_id: str) -> str:
    """What a client logs in with."""
    return base64.b64encode(token_hmac(secret, token_id)).decode()


def split_principal(principal: str) -> tuple[str, str]:
    """(type, name)."""
    kind, _, name = principal.partition(":")
    return kind, name


class TokensByHmac:
    """Finds the token that an HMAC is of. Each token's is made once: 10,000 of them take 15 ms."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._ids: dict[bytes, str] = {}  # by a hash of the HMAC: how long a look-up takes tells nothing of the HMAC
        self._known: Mapping[str, DelegationToken] = {}

    def find(self, tokens: Mapping[str, DelegationToken], wanted: bytes) -> DelegationToken | None:
        if tokens is not self._known:
            self._follow(tokens)
        token_id = self._ids.get(hashlib.sha256(wanted).digest())
        return None if token_id is None else tokens[token_id]

    def _follow(self, tokens: Mapping[str, DelegationToken]) -> None:
        kept = {key: token_id for key, token_id in self._ids.items() if token_id in tokens}
        seen = set(kept.values())
        for token_id in tokens:
            if token_id not in seen:
                kept[hashlib.sha256(token_hmac(self._secret, token_id)).digest()] = token_id
        self._ids, self._known = kept, tokens
