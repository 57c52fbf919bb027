"""Flushes what has waited long enough: `flush.ms` of the topic, else a minute or 256 MiB.

Kafka leaves the latter to the operating system. Here it bounds what a start after a crash has to read again for each
partition, for recovery points move with each flush. Many partitions that are due together are flushed by one flush of
the file system: each would need about four, and ten thousand of them a disk for a minute.
"""

import asyncio
from collections.abc import Callable, Sequence

from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.upkeep.flusher import Flusher
from barnabas.broker.upkeep.rounds import PartitionTask

_BYTES = 256 * 1024 * 1024
_SECONDS = 60.0
# With fewer of them the file system is left alone, because that also flushes what others have written to the same disk.
TOGETHER_FROM = 32


class BackgroundFlush(PartitionTask):
    name = "flushing"

    def __init__(
        self, flusher: Flusher, flushed: Callable[[], None], sync_filesystem: Callable[[], None] | None = None
    ) -> None:
        """`flushed` is called when recovery points have moved; `sync_filesystem` is None where there is none."""
        self._flusher = flusher
        self._flushed = flushed
        self._sync_filesystem = sync_filesystem
        self._dirty_since: dict[HostedPartition, float] = {}
        self._due: list[OpenPartition] = []  # of this round

    def wants(self, partition: HostedPartition) -> bool:
        if partition.opened is not None and partition.opened.log.unflushed_records:
            return True
        if self._dirty_since:
            self._dirty_since.pop(partition, None)
        return False

    async def run(self, partition: HostedPartition) -> None:
        opened = partition.open()
        now = asyncio.get_running_loop().time()
        age = now - self._dirty_since.setdefault(partition, now)
        if (
            age * 1000 >= partition.config.log.flush_ms
            or opened.log.size_bytes - opened.flushed_bytes >= _BYTES
            or age >= _SECONDS
        ):
            del self._dirty_since[partition]
            if len(opened.producers):
                opened.log.take_snapshot()  # after a crash, batches before it need not be replayed
            self._due.append(opened)

    async def end_round(self) -> None:
        for partition in [known for known in self._dirty_since if known.deleted]:
            del self._dirty_since[partition]
        due, self._due = self._due, []
        await self.flush([partition for partition in due if not partition.deleted])

    async def flush(self, partitions: Sequence[OpenPartition]) -> None:
        """Returns before they are on disk, unless they are many."""
        for partition in partitions:
            partition.flushed_bytes = partition.log.size_bytes
        if self._sync_filesystem is not None and len(partitions) >= TOGETHER_FROM:
            await self._flusher.flush_together(partitions, self._sync_filesystem, self._flushed)
        else:
            for partition in partitions:
                self._flusher.request(partition, self._flushed)
