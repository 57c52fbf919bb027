"""One HTTP request with bounds on time and size, for a thread: a provider's key set, a token from its token endpoint.

Redirects of a GET are followed where they do not lead from https to http; a POST, which has secrets, is not redirected.
Proxies of the environment are not used: what is asked for are keys and tokens, and the address says from whom.
"""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from ssl import SSLContext, create_default_context
from typing import IO
from urllib.parse import urlsplit

_CHUNK_BYTES = 64 * 1024
_ERROR_BYTES = 500  # of what a server says about its refusal


class HttpFailed(Exception):
    """Why there is no answer, in one line. `status`: of a server that did answer."""

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.status = status


class _NoDowngrade(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        if req.data is not None:
            raise HttpFailed("it redirects, which is not followed: what is sent is meant for nobody else")
        scheme = urlsplit(newurl).scheme
        if scheme not in ("http", "https") or (urlsplit(req.full_url).scheme == "https" and scheme != "https"):
            raise HttpFailed(f"it redirects to {scheme}, which is not followed")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(
    url: str,
    *,
    timeout_s: float,
    max_bytes: int,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    tls: SSLContext | None = None,
) -> bytes:
    """The body of a 2xx answer. With `body` it is a POST. Raises HttpFailed."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise HttpFailed("only http and https are spoken")
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(context=tls or create_default_context()),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _NoDowngrade(),
    ):
        opener.add_handler(handler)
    deadline = time.monotonic() + timeout_s
    try:
        request = urllib.request.Request(url, data=body, headers=dict(headers or {}))
        with opener.open(request, timeout=timeout_s) as answer:
            return _read(answer, deadline, max_bytes)
    except urllib.error.HTTPError as refused:
        with refused:
            raise HttpFailed(f"HTTP {refused.code}{_said(refused)}", refused.code) from None
    except urllib.error.URLError as error:
        raise HttpFailed(str(error.reason)) from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise HttpFailed(str(error) or type(error).__name__) from None


def _read(answer: http.client.HTTPResponse, deadline: float, max_bytes: int) -> bytes:
    parts = bytearray()
    while chunk := answer.read1(_CHUNK_BYTES):
        parts += chunk
        if len(parts) > max_bytes:
            raise HttpFailed(f"the answer has more than {max_bytes} bytes")
        if time.monotonic() > deadline:
            raise HttpFailed("the answer takes too long")
    return bytes(parts)


def _said(refused: urllib.error.HTTPError) -> str:
    try:
        text = refused.read(_ERROR_BYTES).decode(errors="replace")
    except OSError:
        return ""
    words = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return f": {words}" if words else ""
