"""The consumer for asyncio: `async for`, the same options, and the loop is never blocked.

    async with AsyncConsumer("orders", group="billing") as consumer:
        async for message in consumer:
            await charge(message.value)

Whatever waits for the cluster runs in one thread that belongs to the consumer; messages that are here already are
handed out without it. A cancelled wait (`asyncio.wait_for(anext(consumer), 1)`) loses nothing: the fetch goes on, and
its messages are there for the next question. Rebalance callbacks run in the loop, as functions or coroutines, while the
group waits for them.
"""

from __future__ import annotations

import asyncio
import inspect
import time as clock
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from barnabas.client.common.connection import bootstrap_or_default
from barnabas.client.consumer.buffer import Offsets
from barnabas.client.consumer.committing import COMMIT_WAIT_S
from barnabas.client.consumer.consumer import Consumer
from barnabas.client.consumer.membership import Partitions
from barnabas.client.consumer.message import Message
from barnabas.client.consumer.start import Where
from barnabas.client.errors import Closed
from barnabas.model.ids import TopicPartition

Answer = TypeVar("Answer")
_CALLBACKS = ("on_assign", "on_revoke", "on_lost")


class AsyncConsumer:
    """Consumer for asyncio: `async for message in AsyncConsumer("orders")`."""

    # Any: the options are those of Consumer, each of its own type.
    def __init__(self, *topics: str, bootstrap: str | None = None, **options: Any) -> None:
        """The options are those of Consumer. Nothing is connected before the first use."""
        self.bootstrap = bootstrap_or_default(bootstrap)
        self.group: str | None = options.get("group")
        self._topics = topics
        self._options = options
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="barnabas-consumer")
        self._consumer: Consumer | None = None
        # A wait in the thread that outlived whoever asked for it. Any: what it gives is for them.
        self._pending: asyncio.Future[Any] | None = None
        self._iterator: AsyncIterator[Message] | None = None
        self._closed = False

    async def start(self) -> Self:
        """Connects; raises CannotReach or UnknownTopic. Called by the first use when nobody else does."""
        await self._ready()
        return self

    # --- reading -----------------------------------------------------------------------------------------------------

    async def __aiter__(self) -> AsyncIterator[Message]:
        consumer = await self._ready()
        reader, left = consumer._reader, consumer._max_records
        since = clock.monotonic()
        while left is None or left > 0:
            if consumer._stopped:
                return
            if reader.is_overdue(since):
                await self._in_thread(reader.keep_alive)
            message = reader.take()
            if message is None:
                if not consumer._follow and reader.at_end():
                    return
                if await self._in_thread(reader.fetch, consumer._wait_s(since)) == 0 and consumer._is_quiet(since):
                    return
                continue
            if left is not None:
                left -= 1
            yield message
            reader.finish()
            since = clock.monotonic()

    async def __anext__(self) -> Message:
        if self._iterator is None:
            self._iterator = aiter(self)
        try:
            return await anext(self._iterator)
        except BaseException:
            self._iterator = None
            raise

    async def poll(self, timeout: float = 0) -> Message | None:
        """The next message, or None when none came within `timeout` seconds."""
        consumer = await self._ready()
        deadline = clock.monotonic() + timeout
        if consumer._reader.is_overdue(clock.monotonic()):
            await self._in_thread(consumer._reader.keep_alive)
        while (message := consumer._reader.take()) is None:
            left = deadline - clock.monotonic()
            if await self._in_thread(consumer._reader.fetch, max(0.0, min(left, 0.2))) == 0 and left <= 0:
                return None
        return message

    def stop(self) -> None:
        """Ends the loop soon."""
        if self._consumer is not None:
            self._consumer.stop()

    # --- what is finished, and places: as Consumer has them ----------------------------------------------------------

    async def commit(self, message: Message | None = None, wait: bool = True, timeout: float = COMMIT_WAIT_S) -> None:
        consumer = await self._ready()
        await self._in_thread(consumer.commit, message, wait, timeout)

    async def committed(self) -> dict[TopicPartition, int | None]:
        consumer = await self._ready()
        return await self._in_thread(consumer.committed)

    async def seek(
        self,
        to: Where | None = None,
        *,
        offset: int | None = None,
        time: datetime | None = None,
        partition: int | None = None,
        topic: str | None = None,
    ) -> None:
        consumer = await self._ready()
        await self._in_thread(lambda: consumer.seek(to, offset=offset, time=time, partition=partition, topic=topic))

    async def positions(self) -> Offsets:
        consumer = await self._ready()
        return await self._in_thread(consumer.positions)

    async def lag(self) -> Offsets:
        consumer = await self._ready()
        return await self._in_thread(consumer.lag)

    def assignment(self) -> list[TopicPartition]:
        return [] if self._consumer is None else self._consumer.assignment()

    # --- the end -----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Leaves the group, also when the task that waits for it is cancelled."""
        if self._closed:
            return
        self._closed = True
        self.stop()
        await asyncio.shield(asyncio.ensure_future(self._close()))

    async def _close(self) -> None:
        if self._pending is not None:
            await asyncio.wait([self._pending])
        try:
            if self._consumer is not None:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._consumer.close)
        finally:
            self._thread.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is None and self._consumer is not None:
            self._consumer._reader.finish()
        await self.close()

    # --- the thread --------------------------------------------------------------------------------------------------

    async def _ready(self) -> Consumer:
        if self._closed:
            raise Closed("this consumer is closed")
        if self._consumer is None:
            loop = asyncio.get_running_loop()
            options = dict(self._options)
            for name in _CALLBACKS:
                if options.get(name) is not None:
                    options[name] = _in_loop(loop, options[name])
            await self._in_thread(self._open, options)
        assert self._consumer is not None
        return self._consumer

    def _open(self, options: dict[str, Any]) -> None:  # of Consumer
        if self._consumer is None:  # somebody else may have asked at the same time
            self._consumer = Consumer(*self._topics, bootstrap=self.bootstrap, **options)

    async def _in_thread(self, function: Callable[..., Answer], *arguments: object) -> Answer:
        """Runs in the consumer's own thread, one thing at a time; being cancelled here does not stop it there."""
        while self._pending is not None:
            pending = self._pending
            await asyncio.wait([pending])
            if self._pending is pending:
                self._pending = None
            pending.result()  # what nobody was told yet
        running = asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)
        self._pending = running
        try:
            return await asyncio.shield(running)
        finally:
            if running.done() and self._pending is running:
                self._pending = None


def _in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[[Partitions], object]) -> Callable[[Partitions], None]:
    async def call(partitions: Partitions) -> None:
        answer = callback(partitions)
        if inspect.isawaitable(answer):
            await answer

    def from_thread(partitions: Partitions) -> None:
        running = asyncio.run_coroutine_threadsafe(call(partitions), loop)
        if asyncio._get_running_loop() is not loop:  # an abandoned consumer is closed in the loop itself: do not wait
            running.result()

    return from_thread
