"""An access token by the client credentials grant (RFC 6749, 4.4), as librdkafka and Java fetch it. It blocks.

fetch_token(TokenRequest("https://provider/token", "job", "secret", "kafka"))
"""

import base64
import ssl
from dataclasses import dataclass, field
from urllib.parse import urlencode

import msgspec

from barnabas.link.errors import LoginFailed
from barnabas.link.http import HttpFailed, fetch

_SECONDS = 10.0
_MAX_BYTES = 256 * 1024  # a token has some KB


@dataclass(frozen=True, slots=True)
class TokenRequest:
    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    tls: ssl.SSLContext | None = None


class _Answer(msgspec.Struct):
    access_token: str


def fetch_token(wanted: TokenRequest) -> str:
    """LoginFailed with one line where the provider gives none."""
    form = {"grant_type": "client_credentials"} | ({} if wanted.scope is None else {"scope": wanted.scope})
    basic = base64.b64encode(f"{wanted.client_id}:{wanted.client_secret}".encode()).decode()
    headers = {"Authorization": f"Basic {basic}", "Accept": "application/json"}
    body = urlencode(form).encode()
    try:
        data = fetch(wanted.url, timeout_s=_SECONDS, max_bytes=_MAX_BYTES, body=body, headers=headers, tls=wanted.tls)
    except HttpFailed as error:
        raise LoginFailed(f"no token from {wanted.url}: {error}") from None
    try:
        return msgspec.json.decode(data, type=_Answer).access_token
    except (msgspec.MsgspecError, RecursionError):
        raise LoginFailed(f"no token from {wanted.url}: the answer has no access_token") from None
