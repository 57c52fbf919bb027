"""The other end of a connection: this node asks, another one answers, in order (pipelined, as Kafka's own nodes do).

Small answers are cut out of one buffer of the connection; a large one is received straight into memory of its own, so
that a replica's records are copied at most once on their way to its log. Whoever asks gets PeerGone when no answer will
come: the connection closed, or nothing was heard for too long (then the connection is given up, because every answer
behind the missing one would come no sooner).
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any

from barnabas.model.limits import PEER_ANSWER_MAX_BYTES
from barnabas.wire.codec import ProtocolError, decode_response, encode_request
from barnabas.wire.headers import request_header, response_header_bytes

_SIZE = Struct(">i")
_SIZE_AND_CORRELATION = Struct(">ii")
_SMALL_BYTES = 64 * 1024  # received into the connection's own buffer
ANSWER_TIMEOUT_MS = 30_000  # Kafka's request.timeout.ms


class PeerGone(ConnectionError):
    """No answer will come from this node on this connection."""


class _Asked:
    __slots__ = ("answer", "correlation_id", "header_bytes", "timer")

    def __init__(self, correlation_id: int, header_bytes: int, answer: "asyncio.Future[memoryview]") -> None:
        self.correlation_id = correlation_id
        self.header_bytes = header_bytes
        self.answer = answer
        self.timer: asyncio.TimerHandle | None = None


class PeerConnection(asyncio.BufferedProtocol):
    """`on_lost(asked)`: it closed, and not because we closed it; `asked`: an answer was still owed."""

    def __init__(self, client_id: str, on_lost: Callable[[bool], None] | None = None) -> None:
        self._client_id = client_id
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._asked: deque[_Asked] = deque()
        self._correlation_id = 0
        self._small = memoryview(bytearray(_SMALL_BYTES))
        self._have = 0  # bytes in _small
        self._large: memoryview | None = None  # an answer that is being received, from its correlation id on
        self._large_have = 0
        self._transport: asyncio.Transport | None = None
        self.closed = False
        self._silent = False  # given up by us

    # --- asking -----------------------------------------------------------------------------------------------------

    def ask_raw(
        self, api_key: int, version: int, payload: bytes, timeout_ms: int = ANSWER_TIMEOUT_MS
    ) -> "asyncio.Future[memoryview]":
        """Send the body of a request; the answer is the body of the response, without its header."""
        answer: asyncio.Future[memoryview] = self._loop.create_future()
        if self.closed or self._transport is None:
            answer.set_exception(PeerGone("the connection is closed"))
            return answer
        self._correlation_id = number = (self._correlation_id + 1) & 0x7FFFFFFF
        header = request_header(api_key, version, number, self._client_id)
        asked = _Asked(number, response_header_bytes(api_key, version), answer)
        asked.timer = self._loop.call_later(timeout_ms / 1000, self._give_up, asked)
        self._asked.append(asked)
        self._transport.write(b"".join((_SIZE.pack(len(header) + len(payload)), header, payload)))
        return answer

    async def ask(
        self, api_key: int, version: int, body: Mapping[str, object], timeout_ms: int = ANSWER_TIMEOUT_MS
    ) -> Any:
        """The same with a body to encode and an answer decoded."""
        answer = await self.ask_raw(api_key, version, encode_request(api_key, version, body), timeout_ms)
        try:
            return decode_response(api_key, version, answer)
        except ProtocolError as error:
            self.abort()
            raise PeerGone(f"an answer that cannot be read: {error}") from None

    @property
    def waiting(self) -> int:
        """How many answers are owed."""
        return len(self._asked)

    def _give_up(self, asked: _Asked) -> None:
        if not asked.answer.done():
            self._end(PeerGone("no answer for too long"))

    # --- the loop calls these ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._large is not None:
            return self._large[self._large_have :]
        return self._small[self._have :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._large is not None:
            self._large_have += nbytes
            if self._large_have == len(self._large):
                whole, self._large = self._large, None
                self._answered(whole)
            return
        self._have += nbytes
        self._cut()

    def connection_lost(self, exc: Exception | None) -> None:
        owed = bool(self._asked)
        self._release(PeerGone(str(exc) if exc else "the connection was closed"))
        if not self._silent and self._on_lost is not None:
            self._on_lost(owed)

    # --- answers ----------------------------------------------------------------------------------------------------

    def _cut(self) -> None:
        """Take whole answers out of the small buffer; a last one that does not fit moves into memory of its own."""
        view, position, have = self._small, 0, self._have
        while have - position >= 4 and not self.closed:
            size = _SIZE.unpack_from(view, position)[0]
            if not 4 <= size <= PEER_ANSWER_MAX_BYTES:
                return self._end(PeerGone(f"an answer of {size} bytes"))
            end = position + 4 + size
            if end <= have:
                self._answered(memoryview(bytes(view[position + 4 : end])))
                position = end
            elif size + 4 > _SMALL_BYTES:
                self._large = memoryview(bytearray(size))
                self._large_have = have - position - 4
                self._large[: self._large_have] = view[position + 4 : have]
                position = have
            else:
                break
        rest = have - position
        if rest and position:
            view[:rest] = bytes(view[position:have])
        self._have = rest
        return None

    def _answered(self, frame: memoryview) -> None:
        number = _SIZE.unpack_from(frame)[0]
        if not self._asked or self._asked[0].correlation_id != number:
            return self._end(PeerGone(f"an answer nobody asked for ({number})"))
        asked = self._asked.popleft()
        if asked.timer is not None:
            asked.timer.cancel()
        if not asked.answer.done():
            asked.answer.set_result(frame[asked.header_bytes :])
        return None

    # --- ends -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """We are done with it: nobody is told that it was lost."""
        self._silent = True
        self._end(PeerGone("the connection was closed by this node"))

    def abort(self) -> None:
        self._end(PeerGone("the connection was given up"))

    def _end(self, why: PeerGone) -> None:
        owed = bool(self._asked)
        self._release(why)
        if self._transport is not None:
            self._transport.abort()
        if not self._silent:
            self._silent = True
            if self._on_lost is not None:
                self._on_lost(owed)

    def _release(self, why: PeerGone) -> None:
        self.closed = True
        asked, self._asked = self._asked, deque()
        for each in asked:
            if each.timer is not None:
                each.timer.cancel()
            if not each.answer.done():
                each.answer.set_exception(why)
                each.answer.exception()  # an asker that has gone away is not complained about
