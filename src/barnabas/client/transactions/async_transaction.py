"""A transaction for asyncio: `async with producer.transaction():`, with the promises of the other one.

    async with producer.transaction(consumer=consumer):
        await producer.enqueue("invoices", ...)

Beginning and ending ask the cluster and wait, so they run in a thread (the consumer's own, if there is one). Meanwhile
librdkafka may tell of deliveries in that thread; the producer hands those over to the loop. A cancelled block aborts. A
commit that has begun is not cancelled: whoever cancels it waits until it is known how it ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from barnabas.client.common.connection import logger
from barnabas.client.errors import BarnabasError
from barnabas.client.transactions.transaction import Transaction

if TYPE_CHECKING:
    from barnabas.client.consumer.async_consumer import AsyncConsumer
    from barnabas.client.producer.async_producer import AsyncProducer


class AsyncTransaction:
    """Made by `AsyncProducer.transaction`; each is used once."""

    def __init__(self, producer: AsyncProducer, consumer: AsyncConsumer | None) -> None:
        self._producer = producer
        self._consumer = consumer
        self._inner: Transaction | None = None

    async def send_offsets(self, consumer: AsyncConsumer) -> None:
        """Records, in this transaction, how far `consumer` has read. A block with `consumer=` does it at its end."""
        self._consumer = consumer
        await self._run(self._opened().send_offsets, await consumer._ready())

    async def abort(self) -> None:
        """Takes everything back now, without an exception. What the block sends after it is refused."""
        await self._run(self._opened().abort)
        self._producer._forget_failures()

    async def __aenter__(self) -> Self:
        await self._producer.start()
        assert self._producer._producer is not None
        source = None if self._consumer is None else await self._consumer._ready()
        self._inner = self._producer._producer.transaction(source)
        await self._run(self._inner.begin)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        inner = self._opened()
        if inner.is_over:
            return
        try:
            await self._run(inner.commit if kind is None else inner.abort)
        except BarnabasError as trouble:
            if kind is None:
                raise
            logger.error("%s", trouble)  # the block's own error matters more; the next transaction will tell
        finally:
            self._producer._forget_failures()

    def _opened(self) -> Transaction:
        if self._inner is None:
            raise BarnabasError("this transaction has not begun: async with producer.transaction(): ...")
        return self._inner

    async def _run(self, function: Callable[..., object], *arguments: object) -> None:
        if self._consumer is not None:
            running = asyncio.ensure_future(self._consumer._in_thread(function, *arguments))
        else:
            running = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            await asyncio.wait([running])
            raise
