"""Removes old data: expired segments, and the files of segments that were removed.

Retention runs every `log.retention.check.interval.ms` over all partitions that have a folder, and opens those that are
not open yet. Whether a segment has expired is read in a thread, and it is removed on the loop. The files of a removed
segment are unlinked after `file.delete.delay.ms`, in a thread.
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.broker.clock import wall_ms
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.upkeep.rounds import PartitionTask
from barnabas.storage.segment import Segment

log = logging.getLogger(__name__)

_SEGMENTS_AT_ONCE = 50  # three renames each; the loop serves others in between


class Retention(PartitionTask):
    name = "retention"

    def __init__(self, partitions: PartitionTable, threads: Executor, starts_changed: Callable[[], None]) -> None:
        """`starts_changed` is called when logs begin later than before."""
        self._partitions = partitions
        self._threads = threads
        self._starts_changed = starts_changed
        self._removed = 0

    def wants(self, partition: HostedPartition) -> bool:
        """What a link fills begins where the source's log begins."""
        return self._partitions.may_open(partition) and not partition.config.link

    async def run(self, partition: HostedPartition) -> None:
        opened = partition.open()
        while True:
            expired = await self._expired(opened)
            if partition.deleted:
                return
            removed = opened.log.apply_retention(wall_ms(), opened.high_watermark, _SEGMENTS_AT_ONCE, expired)
            if removed:
                self._removed += removed
                opened.aborted.forget_before(opened.log.log_start_offset)
            if removed < _SEGMENTS_AT_ONCE:
                return
            await asyncio.sleep(0)

    async def _expired(self, partition: OpenPartition) -> list[Segment]:
        now_ms = wall_ms()
        if not partition.log.may_have_expired(now_ms):
            return []
        ask = partition.log.find_expired
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, ask, now_ms, partition.high_watermark, _SEGMENTS_AT_ONCE)

    async def end_round(self) -> None:
        removed, self._removed = self._removed, 0
        if removed:
            log.info("retention removed %d segments", removed)
            self._starts_changed()


class FileDeletion(PartitionTask):
    """Unlinking a gigabyte takes time, so it happens in a thread."""

    name = "removing files"

    def __init__(self, threads: Executor) -> None:
        self._threads = threads

    def wants(self, partition: HostedPartition) -> bool:
        return partition.opened is not None and bool(partition.opened.log.doomed)

    async def run(self, partition: HostedPartition) -> None:
        now_ms, own = wall_ms(), partition.open().log
        if own.purge_is_due(now_ms):
            await asyncio.get_running_loop().run_in_executor(self._threads, own.purge, now_ms)
