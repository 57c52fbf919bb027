"""What a node does in the background, and how often: one timer a task, a round at a time.

| task                | how often                                        | file                |
|---------------------|--------------------------------------------------|---------------------|
| flushing            | every second                                     | background_flush.py |
| opening             | every second                                     | unopened.py         |
| recovery points     | `log.flush.offset.checkpoint.interval.ms`        | checkpoints.py      |
| high watermarks     | `replica.high.watermark.checkpoint.interval.ms`  | checkpoints.py      |
| retention           | `log.retention.check.interval.ms`                | retention.py        |
| removing files      | every second                                     | retention.py        |
| compaction          | `log.cleaner.backoff.ms`                         | compactor.py        |
| verification        | `log.verify.interval.ms`; soon, after a crash    | scrubber.py         |

Producer ids expire on a timer of their own (producer_expiry.py).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from functools import partial

from barnabas.broker.metrics.health import Health
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.roles import CurrentSettings
from barnabas.broker.upkeep.background_flush import BackgroundFlush
from barnabas.broker.upkeep.checkpoints import CheckpointWriter
from barnabas.broker.upkeep.compactor import Compactor
from barnabas.broker.upkeep.failures import WHOLE_NODE, UpkeepFailures
from barnabas.broker.upkeep.flusher import Flusher
from barnabas.broker.upkeep.retention import FileDeletion, Retention
from barnabas.broker.upkeep.rounds import PartitionTask, run_round
from barnabas.broker.upkeep.scrubber import Scrubber
from barnabas.broker.upkeep.unopened import Unopened

log = logging.getLogger(__name__)

_CHECK_SECONDS = 1.0
_FIRST_VERIFICATION_SECONDS = 5.0  # after a stop that was not clean


class Upkeep:
    def __init__(
        self,
        partitions: PartitionTable,
        threads: Executor,
        flusher: Flusher,
        health: Health,
        node: CurrentSettings,
        *,
        stopped_cleanly: bool,
    ) -> None:
        self._partitions = partitions
        self._flusher = flusher
        self._node = node
        self._stopped_cleanly = stopped_cleanly
        self._tasks: list[asyncio.Task[None]] = []
        self.failures = UpkeepFailures(health)
        self._checkpoints = CheckpointWriter(partitions, threads, self.failures)
        self._flush = BackgroundFlush(flusher, self._checkpoints.write_soon, partitions.sync_filesystem)
        self._retention = Retention(partitions, threads, self._checkpoints.write_soon)
        self._unopened = Unopened(partitions)
        self._deletion = FileDeletion(threads)
        self._compactor = Compactor(partitions, threads, node, self.failures)
        self._scrubber = Scrubber(threads)

    def start(self) -> None:
        seconds, round_of = self._seconds, self._round_of
        self._every("flushing", lambda: _CHECK_SECONDS, round_of(self._flush))
        self._every("checkpoints", seconds("log.flush.offset.checkpoint.interval.ms"), self._checkpoints.write)
        self._every(
            "watermarks",
            seconds("replica.high.watermark.checkpoint.interval.ms"),
            self._checkpoints.write_watermarks,
        )
        self._every("retention", seconds("log.retention.check.interval.ms"), round_of(self._retention))
        self._every("opening", lambda: _CHECK_SECONDS, self._report_unopened)
        self._every("removing files", lambda: _CHECK_SECONDS, round_of(self._deletion))
        self._every("compaction", seconds("log.cleaner.backoff.ms"), self._compactor.run_round)
        first = None if self._stopped_cleanly else _FIRST_VERIFICATION_SECONDS
        self._every("verification", seconds("log.verify.interval.ms"), round_of(self._scrubber), first)

    def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._checkpoints.stop()

    def checkpoint_soon(self) -> None:
        self._checkpoints.write_soon()

    async def flush_before_serving(self) -> None:
        """Where the high watermark waits for the flush (`flush.messages=1`), what recovery has read is flushed before
        clients are served: a reader that saw a high watermark before the crash must not see an earlier one."""
        flushed = []
        for partition in self._partitions.open_ones():
            if partition.log.unflushed_records and partition.partition.config.flush_every_write:
                done = asyncio.Event()
                self._flusher.request(partition, done.set)
                flushed.append(done)
        for done in flushed:
            await done.wait()

    def flush_recovered(self) -> None:
        """What recovery has read is perhaps in the page cache only; once it is on disk it need not be read again."""
        recovered = [partition for partition in self._partitions.open_ones() if partition.log.unflushed_records]
        self._tasks.append(asyncio.ensure_future(self._flush.flush(recovered)))

    def _every(
        self, name: str, seconds: Callable[[], float], run: Callable[[], Awaitable[None]], first: float | None = None
    ) -> None:
        self._tasks.append(asyncio.ensure_future(self._repeat(name, seconds, run, first)))

    async def _repeat(
        self, name: str, seconds: Callable[[], float], run: Callable[[], Awaitable[None]], first: float | None
    ) -> None:
        wait = seconds() if first is None else first
        while True:
            await asyncio.sleep(wait)
            try:
                if self.failures.may_try(name, WHOLE_NODE):
                    await run()
                    self.failures.succeeded(name, WHOLE_NODE)
            except Exception as error:  # a mistake in our own code must not end the task for the life of the node
                log.debug("%s failed", name, exc_info=True)
                self.failures.failed(name, WHOLE_NODE, error)
            wait = seconds()

    async def _report_unopened(self) -> None:
        if self._partitions.unusable:
            await self._round(self._unopened)

    def _round_of(self, task: PartitionTask) -> Callable[[], Awaitable[None]]:
        return partial(self._round, task)

    async def _round(self, task: PartitionTask) -> None:
        await run_round(task, self._partitions, self.failures)
        if len(self.failures):
            here = {str(partition.id) for partition in self._partitions}
            self.failures.keep_only(here.__contains__)

    def _seconds(self, name: str) -> Callable[[], float]:
        """A setting in milliseconds, read anew each time: it may be changed while the node runs."""
        return lambda: self._node.settings.int(name) / 1000
