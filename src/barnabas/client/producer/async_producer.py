"""The producer for asyncio: the same options, the same promises, and the loop is never blocked.

    async with AsyncProducer() as producer:
        record = await producer.send("orders", b"...")          # delivered
        pending = await producer.enqueue("orders", b"...")      # queued; `await pending` when it matters

Records that are only queued need no thread: while some are under way, the loop looks for answers every millisecond, and
with nothing under way it does nothing. A record that is awaited does not linger (producer/flush_thread.py). What has to
ask the cluster and wait (connecting, counting partitions) goes to a thread.

Cancelling a `send` stops the waiting, not the record: it was queued.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from threading import get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import KafkaError

from barnabas.client.common.connection import bootstrap_or_default, logger
from barnabas.client.common.rdkafka import Delivered
from barnabas.client.errors import BarnabasError, Closed, TimedOut
from barnabas.client.producer.delivery import RecordMetadata, failure_of
from barnabas.client.producer.flush_thread import FlushThread
from barnabas.client.producer.outgoing import Headers, several
from barnabas.client.producer.producer import EXIT_FLUSH_S, Producer
from barnabas.client.transactions.async_transaction import AsyncTransaction

if TYPE_CHECKING:
    from barnabas.client.consumer.async_consumer import AsyncConsumer

LOOK_S = 0.001  # between two looks for answers, while records are under way
ROOM_S = 0.005  # between two tries when the queue is full


class _Pending:
    """One record's answer on its way to a future."""

    __slots__ = ("_future", "_producer", "_topic")

    def __init__(self, producer: AsyncProducer, topic: str, future: asyncio.Future[RecordMetadata]) -> None:
        self._producer = producer
        self._topic = topic
        self._future = future

    def __call__(self, error: KafkaError | None, message: Delivered) -> None:
        if get_ident() == self._producer._loop_thread:
            self._settle(error, message)
        else:
            with contextlib.suppress(RuntimeError):  # the loop has been closed: nobody waits any more
                self._future.get_loop().call_soon_threadsafe(self._settle, error, message)

    def _settle(self, error: KafkaError | None, message: Delivered) -> None:
        if error is not None:
            self._producer._failed(self._future, self._topic, message.partition(), error)
        elif not self._future.done():  # done already: cancelled
            partition, offset = message.partition(), message.offset()
            where = (-1 if partition is None else partition, -1 if offset is None else offset, message.timestamp()[1])
            self._future.set_result(RecordMetadata(self._topic, *where))


class AsyncProducer:
    """Producer for asyncio: `await send(...)` gives the record's place, `await enqueue(...)` a future of it."""

    # Any: the options are those of Producer, each of its own type.
    def __init__(self, bootstrap: str | None = None, **options: Any) -> None:
        """The options are those of Producer. Nothing is connected before the first use."""
        self.bootstrap = bootstrap_or_default(bootstrap)
        self._options = options
        self._opening: asyncio.Future[Producer] | None = None
        self._producer: Producer | None = None
        self._looking = False
        self._closed = False
        self._failures: list[tuple[asyncio.Future[RecordMetadata], BarnabasError]] = []
        self._flush_thread: FlushThread | None = None
        self._loop_thread = 0  # callbacks in any other thread are handed over to the loop

    async def start(self) -> Self:
        """Connects; raises CannotReach. Called by the first use when nobody else does."""
        if self._closed:
            raise Closed("this producer is closed")
        if self._producer is None:
            if self._opening is None:
                self._opening = asyncio.ensure_future(asyncio.to_thread(Producer, self.bootstrap, **self._options))
            try:
                producer = await asyncio.shield(self._opening)
            except BarnabasError:
                self._opening = None
                raise
            if self._producer is None:  # several may have waited for the same opening
                self._producer, self._loop_thread = producer, get_ident()
                self._flush_thread = FlushThread(producer)
        return self

    async def send(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> RecordMetadata:
        """Sends one record and waits until it is in the log."""
        future = await self.enqueue(topic, value, key, headers, partition, timestamp_ms)
        assert self._flush_thread is not None
        try:
            with self._flush_thread:
                return await future
        finally:
            if future.done() and not future.cancelled() and future.exception() is not None:
                self._failures = [each for each in self._failures if each[0] is not future]

    async def enqueue(
        self,
        topic: str,
        value: object = None,
        key: object = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """Queues one record, waiting only when the queue is full. The future tells its fate; `flush` raises for those
        that failed."""
        if self._producer is None or self._closed:
            await self.start()
        producer = self._producer
        assert producer is not None
        if partition is None and not producer.partitioning.knows(topic):
            await asyncio.to_thread(producer.partitioning.ask, topic)
        encoder = producer.record_encoder
        if encoder is not None and not encoder.is_ready(topic, value, key):
            await asyncio.to_thread(producer.prepare, topic, value, key)
        future: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        pending = _Pending(self, topic, future)
        while not producer.offer(pending, topic, value, key, headers, partition, timestamp_ms):
            producer.poll(0)
            await asyncio.sleep(ROOM_S)
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_later(LOOK_S, self._look)
        return future

    async def send_many(self, topic: str, values: Iterable[object], key: object = None) -> list[RecordMetadata]:
        """Sends all, in order, and waits for all; raises when one failed."""
        futures = [await self.enqueue(topic, value, key) for value in several(values)]
        if not futures:
            return []
        assert self._flush_thread is not None
        with self._flush_thread:
            records = await asyncio.gather(*futures, return_exceptions=True)
        failed = [each for each in records if isinstance(each, BarnabasError)]
        if failed:
            settled = {id(each) for each in futures}
            self._failures = [each for each in self._failures if id(each[0]) not in settled]
            raise failure_of(len(failed), failed[0])
        return [each for each in records if isinstance(each, RecordMetadata)]

    def transaction(self, consumer: AsyncConsumer | None = None) -> AsyncTransaction:
        """An `async with` block whose records are read all or none, with the consumer's places, if one is given."""
        return AsyncTransaction(self, consumer)

    async def flush(self, timeout: float | None = None) -> None:
        """Waits until every record has its answer; raises when one that was only queued has failed."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        while self._producer is not None and len(self._producer):
            if deadline is not None and loop.time() >= deadline:
                raise TimedOut(f"flush: {len(self._producer)} records still have no answer after {timeout} s")
            self._producer.poll(0)
            await asyncio.sleep(LOOK_S)
        failures, self._failures = self._failures, []
        if failures:
            raise failure_of(len(failures), failures[0][1])

    async def close(self) -> None:
        if self._closed:
            return
        try:
            await self.flush()
        finally:
            self._end()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is None:
            await self.close()
            return
        try:
            await self.flush(EXIT_FLUSH_S)
        except BarnabasError as trouble:  # the block's own error matters more
            logger.error("%s", trouble)
        finally:
            self._end()

    def _look(self) -> None:
        """Lets answers in, and comes back while more are expected."""
        producer = self._producer
        self._looking = False
        if producer is None or self._closed:
            return
        with contextlib.suppress(BarnabasError):  # a fatal error, which each record and transaction will tell
            producer.poll(0)
        if len(producer):
            self._looking = True
            asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def _failed(
        self, future: asyncio.Future[RecordMetadata], topic: str, partition: int | None, error: KafkaError
    ) -> None:
        assert self._producer is not None
        failure = self._producer.explain(topic, partition, error)
        self._failures.append((future, failure))
        if not future.done():
            future.set_exception(failure)
            future.exception()  # flush raises it in any case: asyncio need not complain that nobody looked

    def _forget_failures(self) -> None:
        self._failures = []

    def _end(self) -> None:
        self._closed = True
        if self._flush_thread is not None:
            self._flush_thread.close()
        if self._producer is not None:
            self._producer.end()
