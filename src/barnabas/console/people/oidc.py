"""Signing in at an OpenID Connect provider: authorization code with PKCE (RFC 6749, RFC 7636, OpenID Connect Core 3.1).

The browser goes to the provider and comes back with a code, which the console exchanges for tokens. The ID token says
who it is; the access token is what the console logs in to the cluster with, by OAUTHBEARER. The ID token comes straight
from the provider's token endpoint, so its sender is known by TLS (Core, 3.1.3.7); who it is for is checked here.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlencode, urlsplit

import msgspec

from barnabas.console.problems import Problem, SignInFirst

DISCOVERY = "/.well-known/openid-configuration"
_EXPIRES_DEFAULT_SECONDS = 300  # where the provider does not say


@dataclass(frozen=True, slots=True)
class OidcOptions:
    issuer: str
    client_id: str
    client_secret: str = field(default="", repr=False)
    scope: str = "openid"
    user_claim: str = "sub"  # of the ID token: who roles are for
    address: str = ""  # by which browsers call the console, where that is not what they say (behind a proxy)
    ca: str | None = None  # a PEM file with the provider's authority


class Provider(msgspec.Struct):
    """What is used of the discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str


class Tokens(msgspec.Struct):
    access_token: str
    id_token: str = ""
    refresh_token: str = ""
    expires_in: int | None = None

    @property
    def lifetime(self) -> float:
        return float(_EXPIRES_DEFAULT_SECONDS if self.expires_in is None else max(0, self.expires_in))


@dataclass(frozen=True, slots=True)
class Attempt:
    """One visit to the provider. `browser` is in a cookie: a code that another browser brings is not taken."""

    cluster: str
    redirect: str
    began: float
    state: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    nonce: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    browser: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def address(self, provider: Provider, options: OidcOptions) -> str:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code",
            "client_id": options.client_id,
            "redirect_uri": self.redirect,
            "scope": options.scope,
            "state": self.state,
            "nonce": self.nonce,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        joined = "&" if urlsplit(provider.authorization_endpoint).query else "?"
        return f"{provider.authorization_endpoint}{joined}{urlencode(asked)}"

    def exchange(self, code: str) -> dict[str, str]:
        return {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect,
            "code_verifier": self.verifier,
        }


def checked_provider(data: bytes, options: OidcOptions) -> Provider:
    try:
        found = msgspec.json.decode(data, type=Provider)
    except (msgspec.MsgspecError, RecursionError):
        raise Problem(f"what {options.issuer} says of itself is no discovery document", status=502) from None
    if found.issuer.rstrip("/") != options.issuer.rstrip("/"):
        raise Problem(f"the provider calls itself another issuer than {options.issuer}", status=502)
    for endpoint in (found.authorization_endpoint, found.token_endpoint):
        if not is_private(endpoint):
            raise Problem("the provider's endpoints are not https", status=502)
    return found


def is_private(url: str) -> bool:
    """https, or this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https":
        return bool(parts.hostname)
    if parts.scheme != "http":
        return False
    try:
        return parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def tokens_of(data: bytes) -> Tokens:
    try:
        return msgspec.json.decode(data, type=Tokens)
    except (msgspec.MsgspecError, RecursionError):
        raise Problem("the provider's answer has no access token", status=502) from None


def user_of(id_token: str, attempt: Attempt, options: OidcOptions, now: float) -> str:
    """Who has signed in; SignInFirst where the token is not for this visit."""
    claims = _claims(id_token)
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    expires, nonce, user = claims.get("exp"), claims.get("nonce"), claims.get(options.user_claim)
    if (
        str(claims.get("iss", "")).rstrip("/") != options.issuer.rstrip("/")
        or options.client_id not in audiences
        or not isinstance(expires, int | float)
        or expires < now
        or not isinstance(nonce, str)
        or not hmac.compare_digest(nonce.encode(), attempt.nonce.encode())
    ):
        raise SignInFirst("the provider's token is not for this visit")
    if not isinstance(user, str) or not user:
        raise SignInFirst(f"the provider's token has no {options.user_claim}")
    return user


def _claims(token: str) -> dict[str, object]:
    try:
        body = token.split(".")[1]
        return msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=dict[str, object])
    except (IndexError, ValueError, msgspec.MsgspecError, RecursionError):
        raise SignInFirst("the provider's answer has no ID token that can be read") from None
