"""Receives requests of HTTP/1.1 and answers each when somebody says so, in a thread of its own.

Strangers may connect: what they can make grow has a limit, and what takes too long is closed.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass

import httptools

from barnabas.connect.errors import Unavailable

HEAD_BYTES_MAX = 32 * 1024
HEADERS_MAX = 100
IDLE_S = 75.0
HEAD_S = 10.0
BODY_S = 60.0
LINGER_S = 1.0
_REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    413: "Content Too Large",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


@dataclass(slots=True, eq=False)
class Request:
    method: str
    path: str  # with the query
    headers: dict[str, str]  # names in lower case
    body: bytes
    connection: Connection
    response: bytes | None = None


Handle = Callable[[Request], tuple[int, str] | None]  # an answer and what is said, or None: it comes later


class Server:
    """Runs from its making until `close`."""

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, handle: Handle, body_bytes: int, connections: int
    ) -> None:
        self.handle, self.body_bytes, self._connections_max = handle, body_bytes, connections
        self.connections: set[Connection] = set()
        self.loop = asyncio.new_event_loop()
        try:
            bound = self.loop.run_until_complete(
                self.loop.create_server(
                    lambda: Connection(self),
                    host,
                    port,
                    ssl=tls,
                    backlog=128,
                    ssl_handshake_timeout=HEAD_S if tls else None,
                )
            )
        except (OSError, OverflowError) as problem:
            self.loop.close()
            said = getattr(problem, "strerror", None) or str(problem)
            raise Unavailable(f"http cannot listen on {host}:{port}: {said}", "Is the port taken?") from None
        self.port: int = bound.sockets[0].getsockname()[1]
        self._server = bound
        self._thread = threading.Thread(target=self.loop.run_forever, name=f"http-{self.port}", daemon=True)
        self._thread.start()

    def is_full(self) -> bool:
        return len(self.connections) > self._connections_max

    def answer(self, request: Request, status: int, said: str = "") -> None:
        """From any thread."""
        with contextlib.suppress(RuntimeError):  # closed
            self.loop.call_soon_threadsafe(request.connection.answer, request, status, said)

    def close(self) -> None:
        """Answers that were given before go out first."""
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    async def _end(self) -> None:
        # Accepts no more, and lets what was accepted become connections before the server is closed: else asyncio
        # leaves their sockets open, and the senders waiting.
        for listener in self._server.sockets:
            self.loop.remove_reader(listener.fileno())
        for _ in range(5):
            await asyncio.sleep(0)
        self._server.close()
        for _ in range(50):
            for connection in list(self.connections):
                connection.end()
            await asyncio.sleep(0.02 if self.connections else 0)
            if not self.connections:
                break
        for connection in list(self.connections):
            connection.transport.abort()
        await asyncio.sleep(0)


class Connection(asyncio.Protocol):
    """One connection. The callbacks on_* are httptools'."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._requests: collections.deque[Request] = collections.deque()  # not answered yet, in order
        self._parser = httptools.HttpRequestParser(self)
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False  # after what is to be answered
        self._refused = False
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._size = self._head_bytes = 0
        self._in_head, self._in_body = False, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        raw = transport.get_extra_info("socket")
        if raw is not None:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._server.connections.add(self)
        self._wait(IDLE_S)
        if self._server.is_full():
            self._refuse(503, "too many connections")

    def connection_lost(self, problem: Exception | None) -> None:
        self._server.connections.discard(self)
        self._closing = True
        self._timer_off()

    def _timer_off(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        self._timer_off()
        self._timer = self._server.loop.call_later(seconds, self._is_late)

    def _is_late(self) -> None:
        if self._requests:
            return  # we are late, not they
        if self._in_head or self._in_body:
            self._refuse(408, "the request was not complete in time")
        else:
            self.transport.close()

    def data_received(self, data: bytes) -> None:
        if self._closing:
            return
        if not self._in_body:
            if not self._in_head:
                self._in_head = True
                self._wait(HEAD_S)
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, UnicodeDecodeError):
            self._refuse(400, "this is no request of HTTP/1.1")
            return
        if self._in_head and self._head_bytes > HEAD_BYTES_MAX:
            self._refuse(431, "the headers are too large")

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if len(self._headers) < HEADERS_MAX:
            self._headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
        else:
            self._refuse(431, f"more than {HEADERS_MAX} headers")

    def on_headers_complete(self) -> None:
        self._in_head, self._in_body = False, True
        self._wait(BODY_S)
        length = self._headers.get("content-length", "0")
        if length.isdecimal() and int(length[:20]) > self._server.body_bytes:
            self._refuse(413, f"a body may have {self._server.body_bytes} bytes")
        elif self._headers.get("expect", "").lower() == "100-continue" and not self._closing:
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._server.body_bytes:
            self._body = []
            self._refuse(413, f"a body may have {self._server.body_bytes} bytes")
        elif not self._closing:
            self._body.append(part)

    def on_message_complete(self) -> None:
        if self._closing:
            return
        method = self._parser.get_method().decode("latin-1")
        request = Request(method, self._url.decode("latin-1"), self._headers, b"".join(self._body), self)
        self._closing = not self._parser.should_keep_alive()
        self._begin()
        self._requests.append(request)
        self.transport.pause_reading()  # one at a time, unless more are in what was read
        answer = self._server.handle(request)
        if answer is not None:
            self.answer(request, *answer)

    def answer(self, request: Request, status: int, said: str) -> None:
        if request.response is not None:
            return
        request.response = _response(status, said, self._closing)
        if self.transport.is_closing():
            return
        while self._requests and (response := self._requests[0].response) is not None:
            self._requests.popleft()
            self.transport.write(response)
        if not self._requests:
            if self._refused:
                self._linger()
            elif self._closing:
                self.transport.close()
            else:
                self.transport.resume_reading()
                self._wait(IDLE_S)

    def _refuse(self, status: int, said: str) -> None:
        """Answers behind what is still to be answered, and closes."""
        if self._closing:
            return
        self._closing = self._refused = True
        request = Request("", "", {}, b"", self)
        self._requests.append(request)
        self.answer(request, status, said)

    def _linger(self) -> None:
        """What a sender has not sent yet is read and dropped for a moment: it would not see the answer if we closed in
        the middle of it."""
        self._timer_off()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.transport.resume_reading()
        self._timer = self._server.loop.call_later(LINGER_S, self.transport.close)

    def end(self) -> None:
        """Without waiting for what the other side still wants to send."""
        self._closing = True
        for request in list(self._requests):
            self.answer(request, 503, "the connector stops")
        self.transport.close()


def _response(status: int, said: str, last: bool) -> bytes:
    body = f"{said}\n".encode() if said else b""
    head = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}", f"Content-Length: {len(body)}"]
    if body:
        head.append("Content-Type: text/plain; charset=utf-8")
    if status == 503:
        head.append("Retry-After: 1")
    if status == 405:
        head.append("Allow: POST, PUT")
    if last:
        head.append("Connection: close")
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body
