"""OAUTHBEARER (RFC 7628, KIP-255): the client shows an access token in its first message.

A token that is not accepted is answered with a JSON object; the client says %x01 to it, and then the login fails, with
the same text. It tells no more than Kafka's does: the reason is in the node's log. Kafka takes another token in place
of the %x01; here one connection has one try, so that each refusal is counted and delayed.
"""

import re
from collections.abc import Callable

from barnabas.core.access.jwt import BadToken
from barnabas.core.access.sasl.contract import Identity, LoginRefused, RefusedByReply
from barnabas.model.limits import SASL_EXTENSIONS_MAX

SEPARATOR = "\x01"
_FIRST = re.compile(
    r"n,(?:a=(?P<authorization_id>(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]|=2C|=3D)+))?,\x01"
    r"(?P<pairs>(?:[A-Za-z]+=[\x21-\x7E \t\r\n]+\x01)*)\x01"
)
_AUTH = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)", re.ASCII)
_INVALID = '{"status":"invalid_token"}'  # Kafka's text
_FORM = "Invalid OAUTHBEARER client first message"


class OAuthBearerServer:
    """`verify(token)` gives who it is of; it raises BadToken, or NotReady where the keys are to be fetched first."""

    def __init__(self, verify: Callable[[str], Identity]) -> None:
        self._verify = verify
        self._refusal: str | None = None  # the reason, once a token was not accepted

    def step(self, message: bytes) -> tuple[bytes, Identity | None]:
        if self._refusal is not None:
            raise LoginRefused(_INVALID, reason=self._refusal, counted=True)
        authorization_id, token = _parsed(message)
        try:
            identity = self._verify(token)
        except BadToken as bad:
            self._refusal = str(bad)
            raise RefusedByReply(_INVALID.encode(), self._refusal) from None
        if authorization_id and authorization_id != identity.user:
            raise LoginRefused(
                "Authentication failed: Client requested an authorization id"
                f" ({authorization_id}) that is different from the token's principal name ({identity.user})",
                identity.user,
            )
        return b"", identity


def _parsed(message: bytes) -> tuple[str, str]:
    """(authorization id or nothing, token). Extensions (KIP-342) may be there; nothing here uses them."""
    if message.count(SEPARATOR.encode()) > SASL_EXTENSIONS_MAX:
        raise LoginRefused(_FORM)
    try:
        match = _FIRST.fullmatch(message.decode())
    except UnicodeDecodeError:
        match = None
    if match is None:
        raise LoginRefused(_FORM)
    pairs = dict(pair.split("=", 1) for pair in match["pairs"].split(SEPARATOR) if pair)
    auth = pairs.get("auth")
    if auth is None:
        raise LoginRefused(f"{_FORM}: 'auth' not specified")
    found = _AUTH.fullmatch(auth)
    if found is None:
        raise LoginRefused(f"{_FORM}: invalid 'auth' format")
    if found["scheme"].lower() != "bearer":
        raise LoginRefused("Invalid scheme in OAUTHBEARER client first message")
    return match["authorization_id"] or "", found["token"]
