"""What every answer says to the browser, and which requests are not for us at all.

Everything on a page comes from the console itself, and no script stands in a page; so a record's value that is shown
by mistake as HTML could neither run nor load anything. A page of another site cannot frame the console, read from it,
or reach it by a name of its own that resolves to this machine (the Host header has to be one of ours).
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class SecurityHeaders:
    """`hosts`: the names by which browsers may call the console; empty for all (behind a proxy)."""

    def __init__(self, app: ASGIApp, hosts: Collection[str], tls: bool) -> None:
        self._app = app
        self._hosts = hosts
        self._headers = _HEADERS | ({"Strict-Transport-Security": "max-age=31536000"} if tls else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if self._hosts and _name(host) not in self._hosts:
            answer = JSONResponse({"error": f"this console is not called {_name(host)!r}"}, status_code=421)
            await answer(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)


def _name(host: str) -> str:
    """Without the port; IPv6 addresses are in brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
