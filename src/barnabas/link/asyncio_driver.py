"""The driver for asyncio: an Exchange on a transport. Between brokers, and in the simulator on its network and clock.

    link = AsyncLink("node-1", on_lost=...)
    await loop.create_connection(lambda: link, host, port)
    answer = await link.ask_raw(api_key, version, body)

Requests are pipelined: each is written at once, and no task is made for it. Whoever asks gets LinkDown when no answer
will come: the connection closed, or an answer took too long. Then the connection is given up, because every answer
behind the missing one would come no sooner.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from barnabas.link.errors import LinkDown, LoginFailed, NotKafka, Silent
from barnabas.link.exchange import Exchange
from barnabas.model.limits import LARGE_REQUEST_THREAD_BYTES, PEER_ANSWER_MAX_BYTES
from barnabas.wire.codec import Decoded, decode_response, encode_request
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.link.sasl import Credentials

ANSWER_TIMEOUT_MS = 30_000  # Kafka's request.timeout.ms

_Waiter = tuple["asyncio.Future[memoryview]", asyncio.TimerHandle]


class AsyncLink(asyncio.BufferedProtocol):
    """`on_lost(owed)`: it closed, and not because we closed it; `owed`: an answer was still to come."""

    def __init__(self, client_id: str, on_lost: Callable[[bool], None] | None = None) -> None:
        self._exchange: Exchange[_Waiter] = Exchange(client_id, PEER_ANSWER_MAX_BYTES)
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self.closed = False
        self._given_up = False  # by us: nobody is told again
        self._next_login: asyncio.TimerHandle | None = None  # KIP-368
        self._logging_in: asyncio.Task[None] | None = None

    # --- asking -----------------------------------------------------------------------------------------------------

    def ask_raw(
        self, api_key: int, version: int, body: bytes, timeout_ms: float = ANSWER_TIMEOUT_MS
    ) -> "asyncio.Future[memoryview]":
        """Send the body of a request; the answer is the body of the response, without its header."""
        answer: asyncio.Future[memoryview] = self._loop.create_future()
        if self.closed or self._transport is None:
            answer.set_exception(LinkDown("the connection is closed"))
            return answer
        timer = self._loop.call_later(timeout_ms / 1000, self._too_late, answer)
        head = self._exchange.request(api_key, version, len(body), (answer, timer))
        self._transport.write(head + body)
        return answer

    async def ask(
        self,
        api_key: int,
        version: int,
        body: Mapping[str, object],
        timeout_ms: float = ANSWER_TIMEOUT_MS,
        threads: Executor | None = None,
    ) -> Decoded:
        """The same with a body to encode and an answer decoded; the API key decides what it is. A large answer is
        decoded by one of the `threads`."""
        answer = await self.ask_raw(api_key, version, encode_request(api_key, version, body), timeout_ms)
        try:
            if threads is not None and len(answer) > LARGE_REQUEST_THREAD_BYTES:
                return await self._loop.run_in_executor(threads, decode_response, api_key, version, bytes(answer))
            return decode_response(api_key, version, answer)
        except ProtocolError as error:
            problem = NotKafka(f"an answer that cannot be read: {error}")
            self._give_up(problem)
            raise problem from None

    async def log_in(self, credentials: "Credentials", new_nonce: Callable[[], str]) -> None:
        """Before the first request; LoginFailed when the node refuses. Where a login does not count for ever, the next
        one follows by itself in time, between other requests."""
        from barnabas.link.opening import log_in, log_in_again_after_ms  # a node of an open cluster does not need it

        conversation = log_in(credentials, new_nonce())
        try:
            step = next(conversation)
            while True:
                step = conversation.send(await self.ask(step.api_key, step.version, step.body))
        except StopIteration as end:
            if end.value and not self.closed:
                after_s = log_in_again_after_ms(end.value) / 1000
                self._next_login = self._loop.call_later(after_s, self._begin_login, credentials, new_nonce)

    def _begin_login(self, credentials: "Credentials", new_nonce: Callable[[], str]) -> None:
        if not self.closed:
            self._logging_in = self._loop.create_task(self._log_in_again(credentials, new_nonce))

    async def _log_in_again(self, credentials: "Credentials", new_nonce: Callable[[], str]) -> None:
        try:
            await self.log_in(credentials, new_nonce)
        except LinkDown:
            return  # whoever uses the connection has been told
        except LoginFailed as error:
            self._give_up(LinkDown(str(error)))

    @property
    def waiting(self) -> int:
        """How many answers are owed."""
        return len(self._exchange.in_flight)

    def _too_late(self, answer: "asyncio.Future[memoryview]") -> None:
        if not answer.done():
            _fail(answer, Silent("no answer for too long"))
            self._give_up(LinkDown("an earlier answer did not come in time"))

    # --- the loop calls these ---------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._exchange.room()

    def buffer_updated(self, nbytes: int) -> None:
        exchange = self._exchange
        exchange.received(nbytes)
        try:
            while (found := exchange.next_answer()) is not None:
                request, body = found
                answer, timer = request.waiter
                timer.cancel()
                if not answer.done():
                    answer.set_result(body)
        except NotKafka as problem:
            self._give_up(problem)

    def connection_lost(self, exc: Exception | None) -> None:
        owed = self._release(LinkDown(str(exc) if exc else "the connection was closed"))
        if not self._given_up and self._on_lost is not None:
            self._on_lost(owed)

    # --- ends -------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """We are done with it: nobody is told that it was lost."""
        self._given_up = True
        self._give_up(LinkDown("the connection was closed by this side"))

    def _give_up(self, why: LinkDown) -> None:
        owed = self._release(why)
        if self._transport is not None:
            self._transport.abort()
        if not self._given_up:
            self._given_up = True
            if self._on_lost is not None:
                self._on_lost(owed)

    def _release(self, why: LinkDown) -> bool:
        """Fails everything in flight; gives whether there was anything."""
        self.closed = True
        if self._next_login is not None:
            self._next_login.cancel()
        owed = bool(self._exchange.in_flight)
        for request in self._exchange.in_flight:
            answer, timer = request.waiter
            timer.cancel()
            if not answer.done():
                _fail(answer, why)
        self._exchange.in_flight.clear()
        return owed


def _fail(answer: "asyncio.Future[memoryview]", why: LinkDown) -> None:
    answer.set_exception(why)
    answer.exception()  # an asker that has gone away is not complained about
