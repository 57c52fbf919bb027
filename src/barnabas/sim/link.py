"""One connection of a client to one node: requests by API key and version, on our own wire code.

Every way a request may end short of an answer (refused, cut, too late) is one exception, `NoAnswer`: whoever sent it
does not know whether it was done.
"""

import asyncio
from struct import Struct
from typing import TYPE_CHECKING, Any

from barnabas.sim.network import End
from barnabas.sim.process import Process
from barnabas.wire.codec import decode_response, encode_request
from barnabas.wire.headers import request_header, response_header

if TYPE_CHECKING:
    from barnabas.sim.world import World

_SIZE = Struct(">i")
_TOO_LATE = ("timed out",)
PORT = 9092


class NoAnswer(Exception):
    """The request may or may not have been carried out."""


class _Answers(asyncio.Protocol):
    def __init__(self) -> None:
        self.buffer = b""
        self.waiting: dict[int, asyncio.Future[bytes]] = {}
        self.lost = False

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while len(self.buffer) >= 4:
            size = _SIZE.unpack_from(self.buffer)[0]
            if len(self.buffer) < 4 + size:
                return
            frame, self.buffer = self.buffer[4 : 4 + size], self.buffer[4 + size :]
            future = self.waiting.pop(_SIZE.unpack_from(frame)[0], None)
            if future is not None and not future.done():
                future.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(NoAnswer("connection lost"))
        self.waiting.clear()


class Link:
    def __init__(self, world: "World", name: str, process: Process, host: str) -> None:
        self.world = world
        self.name = name
        self.process = process
        self.host = host
        self._answers: _Answers | None = None
        self._transport: End | None = None
        self._correlation = 0

    async def ask(self, api_key: int, version: int, body: dict[str, Any], seconds: float) -> Any:
        loop, begun = self.world.loop, self.world.loop.now
        answers = self._answers
        if answers is None or answers.lost:
            answers = await self._connect(seconds)
        self._correlation += 1
        number = self._correlation
        payload = request_header(api_key, version, number, self.name) + encode_request(api_key, version, body)
        future: asyncio.Future[bytes] = loop.create_future()
        answers.waiting[number] = future
        assert self._transport is not None
        self._transport.write(_SIZE.pack(len(payload)) + payload)
        timer = loop.call_at(begun + seconds, _too_late, future)
        try:
            frame = await future
        except NoAnswer as error:
            if error.args == _TOO_LATE:
                self.world.history.timeouts.append((begun, loop.now, self.name, api_key, self.host))
            self.close()
            raise
        finally:
            timer.cancel()
        self.world.history.answers += 1
        return decode_response(api_key, version, frame, len(response_header(api_key, version, number)))

    async def _connect(self, seconds: float) -> _Answers:
        answers = _Answers()
        try:
            async with asyncio.timeout(seconds):
                self._transport = await self.world.network.connect(lambda: answers, self.process.host, self.host, PORT)
        except TimeoutError:
            raise NoAnswer(*_TOO_LATE) from None
        except OSError as error:
            raise NoAnswer(str(error)) from None
        self._answers = answers
        return answers

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        self._answers = self._transport = None


def _too_late(future: "asyncio.Future[bytes]") -> None:
    if not future.done():
        future.set_exception(NoAnswer(*_TOO_LATE))
