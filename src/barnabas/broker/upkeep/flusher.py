"""Group commit: one fsync serves every write that waits for one.

fsync runs in a thread, one at a time for each partition. A partition that asks again while its fsync runs is synced
once more afterwards, and that one call covers everything appended in between. An fsync begins at the end of the loop's
turn in which it was asked for, so what else that turn appends is covered as well. A failed fsync is fatal for the data
directory (the kernel may have dropped the pages it could not write), so it is handed to the node, which stops. That
there was no descriptor or no memory for it is no failure of the disk: it is tried again, and meanwhile nothing that was
to be flushed counts as flushed.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Protocol, TypeVar

from barnabas.broker import clock
from barnabas.broker.metrics.counts import Times
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.storage import flushing
from barnabas.storage.disk import SHORTAGE
from barnabas.storage.log import Log
from barnabas.storage.log_state import NOT_CUT

log = logging.getLogger(__name__)

_RETRY_FIRST_SECONDS, _RETRY_LAST_SECONDS = 0.1, 5.0
THREADS = 4  # partitions synced at the same time; disks gain little beyond
T = TypeVar("T")


class Flushable(Protocol):
    """A hosted partition, or the metadata log."""

    log: Log

    @property
    def deleted(self) -> bool: ...
    def flushed(self, offset: int) -> None: ...


class Flusher:
    def __init__(self, on_fatal: Callable[[BaseException], None], threads: Executor) -> None:
        self._pool = threads
        self._running: set[Flushable] = set()
        self._again: set[Flushable] = set()
        self._then: dict[Flushable, Callable[[], None]] = {}
        self._on_fatal = on_fatal
        self._backoff: dict[Flushable, float] = {}  # seconds, of those that could not be flushed the last time
        self._failures: list[tuple[Sequence[Flushable], BaseException]] = []  # fatal ones, noted in the thread
        self._closed = False
        self.times = Times()

    def request(self, partition: Flushable, then: Callable[[], None] | None = None) -> None:
        """Make what the partition holds now durable; then its `flushed` and `then` are called."""
        if then is not None:
            self._then[partition] = then
        if partition in self._running:
            self._again.add(partition)
        else:
            self._running.add(partition)
            asyncio.get_running_loop().call_soon(self._start, partition)

    async def flush_together(
        self, partitions: Sequence[Flushable], sync_filesystem: Callable[[], None], then: Callable[[], None]
    ) -> None:
        """As `request` for each of many, by one flush of the file system for those that are not being flushed now."""
        waiting = [partition for partition in partitions if partition not in self._running]
        for partition in partitions:
            if partition in self._running:
                self.request(partition, then)
        self._running.update(waiting)
        for partition in waiting:
            partition.log.cut_to = NOT_CUT
            self._then[partition] = then
        logs = [partition.log for partition in waiting]
        loop, budget = asyncio.get_running_loop(), LoopBudget()
        work = loop.run_in_executor(
            self._pool, self._noted, waiting, lambda: flushing.flush_together(logs, sync_filesystem)
        )
        await asyncio.wait([work])
        if work.cancelled():
            self._running.difference_update(waiting)
            return
        error = work.exception()
        for number, partition in enumerate(waiting):
            if error is None:
                self._succeeded(partition, work.result()[number])
            else:
                self._failed(partition, error)
            await budget.pause()

    def _start(self, partition: Flushable) -> None:
        if self._closed:
            return
        self._running.add(partition)
        self._again.discard(partition)  # this flush serves all requests until now
        partition.log.cut_to = NOT_CUT
        begun = clock.source.monotonic()
        work = asyncio.get_running_loop().run_in_executor(self._pool, self._noted, [partition], partition.log.flush)
        work.add_done_callback(lambda done: self._finished(partition, done, begun))

    def _noted(self, partitions: Sequence[Flushable], flush: Callable[[], T]) -> T:
        """In the thread: a failure is noted where `close` finds it, as no callback runs once the loop waits there."""
        try:
            return flush()
        except BaseException as error:
            if not (isinstance(error, OSError) and error.errno in SHORTAGE):
                self._failures.append((partitions, error))
            raise

    def _finished(self, partition: Flushable, done: "asyncio.Future[int]", begun: float) -> None:
        self.times.add(clock.source.monotonic() - begun)
        if done.cancelled():
            self._running.discard(partition)
            return
        if error := done.exception():
            self._failed(partition, error)
        else:
            self._succeeded(partition, done.result())

    def _failed(self, partition: Flushable, error: BaseException) -> None:
        self._running.discard(partition)
        for noted in [each for each in self._failures if each[1] is error]:
            self._failures.remove(noted)
        if isinstance(error, OSError) and error.errno in SHORTAGE and not partition.deleted:
            self._try_again(partition, error)
        elif not partition.deleted:
            self._on_fatal(error)

    def _succeeded(self, partition: Flushable, offset: int) -> None:
        self._backoff.pop(partition, None)
        try:
            # What was cut off meanwhile, and perhaps written anew, is not what was flushed.
            partition.flushed(min(offset, partition.log.cut_to))
        finally:
            again = partition in self._again  # perhaps asked for by what `flushed` has called
            if again:
                self._start(partition)
            else:
                self._running.discard(partition)
        if not again and partition in self._then:
            self._then.pop(partition)()

    def _try_again(self, partition: Flushable, error: OSError) -> None:
        backoff = self._backoff.get(partition, 0.0)
        if not backoff:
            log.error("a log cannot be flushed yet: %s. It is tried again. Raise the limit (ulimit -n).", error)
        self._backoff[partition] = backoff = min(max(backoff * 2, _RETRY_FIRST_SECONDS), _RETRY_LAST_SECONDS)
        self._running.add(partition)  # requests meanwhile wait for it
        asyncio.get_running_loop().call_later(backoff, self._start, partition)

    def close(self) -> None:
        """Wait for what is being flushed. A stop after a flush that failed is not clean."""
        self._closed = True
        self._pool.shutdown(wait=True)
        for partitions, error in self._failures:
            if not all(partition.deleted for partition in partitions):
                self._on_fatal(error)
