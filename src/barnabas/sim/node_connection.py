"""One connection of a client to one node: link/'s asyncio driver on the simulated network and clock.

Every way a request may end short of an answer (refused, cut, too late) is one exception, `NoAnswer`: whoever sent it
does not know whether it was done. An answer that is not Kafka's is no such end: a node of ours never gives one, so
NotKafka and ProtocolError fail the run.
"""

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.link.asyncio_driver import AsyncLink
from barnabas.link.errors import LinkDown, NotKafka, Silent
from barnabas.link.sasl import Credentials
from barnabas.sim.process import Process
from barnabas.wire.codec import Decoded, decode_response, encode_request

if TYPE_CHECKING:
    from barnabas.sim.world import World

PORT = 9092


class NoAnswer(Exception):
    """The request may or may not have been carried out."""


class NodeConnection:
    """Opened by the first request, and again after it broke."""

    def __init__(self, world: "World", name: str, process: Process, host: str) -> None:
        self.world = world
        self.name = name
        self.process = process
        self.host = host
        self._link: AsyncLink | None = None

    async def ask(self, api_key: int, version: int, body: Mapping[str, object], seconds: float) -> Decoded:
        """The API key decides what the answer is; whoever asks declares it."""
        loop, begun = self.world.loop, self.world.loop.now
        link = self._link
        if link is None or link.closed:
            link = await self._connect(seconds)
        left_ms = (begun + seconds - loop.now) * 1000
        try:
            answer = await link.ask_raw(api_key, version, encode_request(api_key, version, body), left_ms)
        except NotKafka:
            raise
        except LinkDown as problem:
            if isinstance(problem, Silent):
                self.world.history.timeouts.append((begun, loop.now, self.name, api_key, self.host))
            if self._link is link:  # another request may have opened the next one
                self.close()
            raise NoAnswer(str(problem)) from None
        self.world.history.answers += 1
        return decode_response(api_key, version, answer)

    async def _connect(self, seconds: float) -> AsyncLink:
        link = AsyncLink(self.name)
        try:
            async with asyncio.timeout(seconds):
                await self.world.network.connect(lambda: link, self.process.host, self.host, PORT)
                if self.world.passwords:
                    user = self.world.users(self.name)
                    await link.log_in(Credentials("PLAIN", user, self.world.passwords[user]), str)
        except TimeoutError:
            link.close()
            raise NoAnswer("timed out") from None
        except OSError as error:  # LinkDown, in the middle of a login, is one
            link.close()
            raise NoAnswer(str(error)) from None
        self._link = link
        return link

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
