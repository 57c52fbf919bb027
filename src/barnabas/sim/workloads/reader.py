"""A reader from the beginning: it reads a partition to its end, again and again, at one isolation level.

It notes every record it is given and compares what it is told of the watermarks with what it was told before.
"""

import asyncio

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import NoAnswer
from barnabas.sim.history import Partition, Seen
from barnabas.sim.requests import Got, fetch
from barnabas.sim.workloads.base import Workload

_DAMAGED = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.OFFSET_OUT_OF_RANGE)


class Reader(Workload):
    kind = "reader"
    pause_seconds = 1.5
    partitions: list[Partition]
    committed_only = False

    async def step(self) -> None:
        partition = self.random.choice(self.partitions)
        await self.read_all(partition)
        self.progressed()

    async def read_all(self, partition: Partition, *, patient: bool = False) -> list[tuple[int, bytes]]:
        """From the beginning to the end (the high watermark, or the last stable offset) as it was at the start."""
        found: list[tuple[int, bytes]] = []
        offset, end = 0, -1
        while True:
            era = self.era
            try:
                got = await fetch(self.client, partition, offset, committed_only=self.committed_only, wait_ms=0)
            except NoAnswer:
                if not patient:
                    raise
                await asyncio.sleep(0.2)
                continue
            if got.error:
                if got.error == ErrorCode.OFFSET_OUT_OF_RANGE and self.world.may_lose(partition, 0):
                    return found  # a power loss took the tail it was reading
                if got.error in _DAMAGED and self.world.is_damaged(partition):
                    return found
                if patient:
                    await asyncio.sleep(0.2)
                    continue
                return found
            if era != self.era and not self.world.losses.flushed.get(partition[0], False):
                return found  # an answer from before a power loss
            self.world.watermarks.told(self, partition, got)
            if end < 0:
                end = got.last_stable_offset if self.committed_only else got.high_watermark
            self._note(partition, offset, got, found)
            if got.next_offset >= end or got.next_offset == offset:
                if got.next_offset == offset < end:
                    self.problem(f"{partition}: nothing at {offset} though the end is {end}")
                return found
            offset = got.next_offset

    def _note(self, partition: Partition, asked: int, got: Got, found: list[tuple[int, bytes]]) -> None:
        last = asked - 1
        bound = got.last_stable_offset if self.committed_only else got.high_watermark
        for base, offset, value in got.records:
            if offset <= last:
                self.problem(f"{partition}: offset {offset} after {last} in one answer")
            if offset >= bound:
                self.problem(f"{partition}: offset {offset} served, but the bound told is {bound}")
            last = offset
            found.append((offset, value))
            self.history.seen.append(
                Seen(self.name, self.world.loop.now, self.era, self.committed_only, partition, offset, value, base)
            )
