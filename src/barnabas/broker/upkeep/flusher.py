"""Group commit: one fsync serves every write that waits for one.

fsync runs in a thread, one at a time for each partition. A partition that asks again while its fsync runs is synced
once more afterwards, and that one call covers everything appended in between. A failed fsync is fatal for the data
directory (the kernel may have dropped the pages it could not write), so it is handed to the node, which stops.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol

from barnabas.storage.log import Log
from barnabas.storage.log_state import NOT_CUT

THREADS = 4  # partitions synced at the same time; disks gain little beyond


class Flushable(Protocol):
    """A hosted partition, or the metadata log."""

    log: Log
    deleted: bool

    def flushed(self, offset: int) -> None: ...


class Flusher:
    def __init__(self, on_fatal: Callable[[BaseException], None], threads: Executor) -> None:
        self._pool = threads
        self._running: set[Flushable] = set()
        self._again: set[Flushable] = set()
        self._then: dict[Flushable, Callable[[], None]] = {}
        self._on_fatal = on_fatal

    def request(self, partition: Flushable, then: Callable[[], None] | None = None) -> None:
        """Make what the partition holds now durable; it hears of it through `flushed`, and `then` is called."""
        if then is not None:
            self._then[partition] = then
        if partition in self._running:
            self._again.add(partition)
        else:
            self._start(partition)

    def _start(self, partition: Flushable) -> None:
        self._running.add(partition)
        partition.log.cut_to = NOT_CUT
        work = asyncio.get_running_loop().run_in_executor(self._pool, partition.log.flush)
        work.add_done_callback(lambda done: self._finished(partition, done))

    def _finished(self, partition: Flushable, done: "asyncio.Future[int]") -> None:
        self._running.discard(partition)
        if done.cancelled():
            return
        if error := done.exception():
            if not partition.deleted:
                self._on_fatal(error)
            return
        # What was cut off meanwhile, and perhaps written anew, is not what was flushed.
        partition.flushed(min(done.result(), partition.log.cut_to))
        if partition in self._again:
            self._again.discard(partition)
            self._start(partition)
        elif partition in self._then:
            self._then.pop(partition)()

    def close(self) -> None:
        self._pool.shutdown(wait=True)
