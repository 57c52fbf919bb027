"""One HTTP client: the head of a request in, its answer out, the next one only when that has left.

A head has METRICS_HEAD_BYTES and METRICS_HEAD_SECONDS, a client that does not read its answer METRICS_SEND_SECONDS, one
that says nothing METRICS_IDLE_SECONDS. Whatever is wrong costs this connection, and is answered with one line.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from barnabas.broker.metrics.http.request import END_OF_HEAD, Answer, Refused, Request, parse_head
from barnabas.broker.network.session import plain_host
from barnabas.model import limits

log = logging.getLogger(__name__)


class HttpConnection(asyncio.Protocol):
    """`serve` answers a request; `ended` is told when the connection is gone; `may_send` whether so many bytes more
    may wait for clients."""

    def __init__(
        self,
        serve: Callable[[Request, "HttpConnection"], Awaitable[Answer]],
        ended: Callable[["HttpConnection"], None],
        may_send: Callable[[int], bool],
    ) -> None:
        self._serve, self._ended, self._may_send = serve, ended, may_send
        self._loop = asyncio.get_running_loop()
        self._kept = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closes = False  # when what is on its way has been sent
        self.queued_bytes = 0  # of an answer that has not left
        self.was_served = False  # with what not everybody gets
        self.host = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # the loop's transports can be paused
        assert self._transport is not None
        self._transport.set_write_buffer_limits(0)
        peer = transport.get_extra_info("peername")
        self.host = plain_host(peer[0]) if peer else ""
        self._within(limits.METRICS_HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.queued_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            self._task.cancel()
        self._ended(self)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _within(self, seconds: float) -> None:
        """The next thing happens within so many seconds, or the connection ends."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self.abort)

    # --- requests -----------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._closes or self._transport is None:
            return
        if not self._kept and self._task is None:
            self._within(limits.METRICS_HEAD_SECONDS)
        self._kept += data
        self._next()

    def eof_received(self) -> bool:
        return False

    def _next(self) -> None:
        if self._task is not None or self._transport is None or not self._kept:
            return
        end = self._kept.find(END_OF_HEAD)
        if end < 0 or end > limits.METRICS_HEAD_BYTES:
            if len(self._kept) > limits.METRICS_HEAD_BYTES:
                self._refuse(Refused(431, f"the head of a request has at most {limits.METRICS_HEAD_BYTES} bytes"))
            return
        head = bytes(self._kept[: end + len(END_OF_HEAD)])
        del self._kept[: len(head)]
        try:
            request = parse_head(head)
        except Refused as refused:
            self._refuse(refused)
            return
        self._transport.pause_reading()  # what it has sent behind this one is at most what a turn of the loop reads
        if self._timer is not None:
            self._timer.cancel()
        self._task = self._loop.create_task(self._answer(request))

    async def _answer(self, request: Request) -> None:
        keeps = request.keeps
        try:
            answer = await self._serve(request, self)
        except Refused as refused:
            answer = Answer(refused.status, f"{refused}\n".encode())
        except Exception:  # a defect of ours costs this answer, not the node
            log.exception("GET %s from %s failed", request.path, self.host)
            answer, keeps = Answer(503, b"the node failed to answer; its log says why\n"), False
        self._send(answer, request, keeps=keeps)

    def _refuse(self, refused: Refused) -> None:
        self._kept.clear()
        self._send(Answer(refused.status, f"{refused}\n".encode()), None, keeps=False)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _send(self, answer: Answer, request: Request | None, *, keeps: bool) -> None:
        transport = self._transport
        if transport is None:
            return
        if not self._may_send(len(answer.body)):
            answer = Answer(503, b"too many readers take their time; try again later\n")
        body = b"" if request is not None and request.method == "HEAD" else answer.body
        self._closes = not keeps
        self.queued_bytes = len(body)
        self._within(limits.METRICS_SEND_SECONDS)
        transport.write(answer.head(keeps=keeps))
        if body:
            transport.write(body)
        if not transport.get_write_buffer_size():
            self.resume_writing()

    def resume_writing(self) -> None:
        """All of the answer has left."""
        transport = self._transport
        if transport is None or not (self.queued_bytes or self._task or self._closes):
            return
        self.queued_bytes, self._task = 0, None
        if self._closes:
            transport.close()
            return
        self._within(limits.METRICS_IDLE_SECONDS)
        transport.resume_reading()
        if self._kept:
            self._within(limits.METRICS_HEAD_SECONDS)
            self._loop.call_soon(self._next)
