"""What a node does when nobody asks: flush what has waited long enough, write checkpoints, let old data go, compact.

One timer a chore, none of it on a request's way. Work on disk runs in threads (fsync) or in a process of its own
(compaction, which would otherwise fight the loop for the interpreter); what remains in the loop is short.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.clock import wall_ms
from barnabas.broker.compactor import Compactor
from barnabas.broker.partition import HostedPartition
from barnabas.broker.scrubber import FIRST_SECONDS, Scrubber

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_FLUSH_LOOK_SECONDS = 1.0  # how often `flush.ms` and the background flush are looked at
_BACKGROUND_FLUSH_BYTES = 256 * 1024 * 1024  # after a crash no more than this is read again for each partition
_BACKGROUND_FLUSH_SECONDS = 60.0
_CHECKPOINT_SOON_SECONDS = 0.2  # several that ask together are served by one


class Chores:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._dirty_since: dict[HostedPartition, float] = {}
        self._compactor = Compactor(node)
        self._scrubber = Scrubber(node)

    def start(self) -> None:
        self._every("flush", lambda: _FLUSH_LOOK_SECONDS, self._flush)
        self._every("checkpoint", self._seconds("log.flush.offset.checkpoint.interval.ms"), self.checkpoint)
        self._every("watermarks", self._seconds("replica.high.watermark.checkpoint.interval.ms"), self._watermarks)
        self._every("retention", self._seconds("log.retention.check.interval.ms"), self._retention)
        self._every("verification", self._seconds("log.verify.interval.ms"), self._scrubber.look)
        if not self._node.data.clean:
            self._timers["first"] = asyncio.get_running_loop().call_later(FIRST_SECONDS, self._scrubber.look)
        self._every("compaction", self._seconds("log.cleaner.backoff.ms"), self._compactor.look)

    def stop(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._compactor.stop()
        self._scrubber.stop()

    def _every(self, name: str, seconds: Callable[[], float], chore: Callable[[], None]) -> None:
        def run() -> None:
            try:
                chore()
            except Exception:
                log.exception("the chore %r failed; it is tried again", name)
            self._timers[name] = asyncio.get_running_loop().call_later(seconds(), run)

        self._timers[name] = asyncio.get_running_loop().call_later(seconds(), run)

    def _seconds(self, name: str) -> Callable[[], float]:
        """A setting in milliseconds, read anew each time: it may be changed while the node runs."""
        return lambda: self._node.settings.int(name) / 1000

    # --- durability -------------------------------------------------------------------------------------------------

    def _flush(self) -> None:
        now = asyncio.get_running_loop().time()
        for partition in self._node.partitions.open_ones():
            unflushed = partition.log.unflushed_records
            if not unflushed:
                self._dirty_since.pop(partition, None)
                continue
            age = now - self._dirty_since.setdefault(partition, now)
            if (
                age * 1000 >= partition.config.log.flush_ms
                or partition.log.size_bytes - partition.flushed_bytes >= _BACKGROUND_FLUSH_BYTES
                or age >= _BACKGROUND_FLUSH_SECONDS
            ):
                del self._dirty_since[partition]
                if len(partition.producers):
                    partition.log.take_snapshot()  # after a crash, batches before it need not be replayed
                self._flush_and_checkpoint(partition)

    def flush_recovered(self) -> None:
        """What recovery has read is perhaps in the page cache only; once it is on disk it need not be read again."""
        for partition in self._node.partitions.open_ones():
            if partition.log.unflushed_records:
                self._flush_and_checkpoint(partition)

    def _flush_and_checkpoint(self, partition: HostedPartition) -> None:
        partition.flushed_bytes = partition.log.size_bytes
        self._node.flusher.request(partition, self.checkpoint_soon)

    def checkpoint(self) -> None:
        """Collected here, written in a thread: it is three fsyncs."""
        write = self._node.partitions.collect_checkpoint()
        done = asyncio.get_running_loop().run_in_executor(self._node.read_threads, write)
        done.add_done_callback(_complain)

    def _watermarks(self) -> None:
        write = self._node.partitions.collect_watermarks()
        if write is not None:
            done = asyncio.get_running_loop().run_in_executor(self._node.read_threads, write)
            done.add_done_callback(_complain)

    def checkpoint_soon(self) -> None:
        if "soon" not in self._timers:
            loop = asyncio.get_running_loop()
            self._timers["soon"] = loop.call_later(_CHECKPOINT_SOON_SECONDS, self._checkpoint_now)

    def _checkpoint_now(self) -> None:
        del self._timers["soon"]
        self.checkpoint()

    # --- old data ---------------------------------------------------------------------------------------------------

    def _retention(self) -> None:
        now_ms = wall_ms()
        removed = 0
        for partition in list(self._node.partitions.with_data()):
            if not self._node.partitions.usable(partition):
                continue
            removed += partition.log.apply_retention(now_ms, partition.last_stable_offset)
            partition.aborted.forget_before(partition.log.log_start_offset)
            self._node.read_threads.submit(partition.log.purge, now_ms)
        if removed:
            log.info("retention removed %d segments", removed)
            self.checkpoint_soon()


def _complain(done: "asyncio.Future[None]") -> None:
    if not done.cancelled() and (error := done.exception()) is not None:
        log.warning("checkpoints not written (%s): the next start reads more", error)
