"""When the checkpoint files of the node are written: every so often, and soon after something asks for it.

What they say is collected in the thread of the loop and written in another, for each is two fsyncs. A failed write
leaves the old file, which is always safe: the next start reads more.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.upkeep.failures import WHOLE_NODE, UpkeepFailures

_SOON_SECONDS = 0.2  # several that ask together are served by one
_RECOVERY_POINTS, _WATERMARKS = "writing recovery points", "writing high watermarks"


class CheckpointWriter:
    def __init__(self, partitions: PartitionTable, threads: Executor, failures: UpkeepFailures) -> None:
        self._partitions = partitions
        self._threads = threads
        self._failures = failures
        self._soon: asyncio.TimerHandle | None = None

    def write_soon(self) -> None:
        if self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(_SOON_SECONDS, self._now)

    def _now(self) -> None:
        self._soon = None
        self._start(_RECOVERY_POINTS, self._partitions.collect_checkpoint())

    async def write(self) -> None:
        self._start(_RECOVERY_POINTS, self._partitions.collect_checkpoint())

    async def write_watermarks(self) -> None:
        self._start(_WATERMARKS, self._partitions.collect_watermarks())

    def _start(self, task: str, write: Callable[[], None] | None) -> None:
        if write is not None:
            done = asyncio.get_running_loop().run_in_executor(self._threads, write)
            done.add_done_callback(lambda work: self._written(task, work))

    def _written(self, task: str, done: "asyncio.Future[None]") -> None:
        if done.cancelled():
            return
        error = done.exception()
        if error is None:
            self._failures.succeeded(task, WHOLE_NODE)
        elif isinstance(error, Exception):
            self._failures.failed(task, WHOLE_NODE, error)

    def stop(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
