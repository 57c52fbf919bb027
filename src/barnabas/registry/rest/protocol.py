"""HTTP on a connection: uvicorn's, with bounds on the head of a request, and a short way for look-ups by id.

A task and the messages of ASGI cost three times as much as a look-up itself, and a look-up by id is what every client
asks for. One that can be answered at once is answered here, before uvicorn makes a task of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from barnabas.model.limits import REGISTRY_HEAD_MAX_BYTES

_HEAD_SECONDS = 10.0  # for a request's line and headers to arrive
_WITH_BODY = (b"content-length", b"transfer-encoding")

Quick = Callable[[bytes, list[tuple[bytes, bytes]]], bytes | None]


class Protocol(HttpToolsProtocol):
    """A client that sends the head of a request slowly, or without end, is closed; uvicorn would wait for ever."""

    def __init__(self, *arguments: Any, quick: Quick, **settings: Any) -> None:  # Any: whatever uvicorn's takes
        super().__init__(*arguments, **settings)
        self._quick = quick
        self._is_answered = False  # the request that arrives

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = self.loop.call_later(_HEAD_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        if self._head_timer is None and self._head_bytes < 0:
            pass  # inside of a body
        else:
            self._head_bytes += len(data)
            if self._head_timer is None:
                self._head_timer = self.loop.call_later(_HEAD_SECONDS, self.transport.close)
        super().data_received(data)
        if self._head_bytes > REGISTRY_HEAD_MAX_BYTES and self._head_timer is not None:
            self.transport.close()

    def on_headers_complete(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        self._head_bytes = -1
        if not self._answered_at_once():
            super().on_headers_complete()

    def _answered_at_once(self) -> bool:
        waits = self.cycle is not None and not self.cycle.response_complete
        if waits or self.pipeline or self.flow.write_paused or self.parser.get_method() != b"GET":
            return False
        if len(self.connections) >= (self.limit_concurrency or 0) or self.parser.get_http_version() != "1.1":
            return False
        if not self.parser.should_keep_alive() or any(name in _WITH_BODY for name, _ in self.headers):
            return False
        answer = self._quick(self.url, self.headers)
        if answer is None:
            return False
        self._is_answered = True
        self.transport.write(answer)
        self.on_response_complete()
        return True

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        if self._is_answered:
            self._is_answered = False
        else:
            super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)
