"""Reads every log now and then, slowly, and checks its CRCs: damage in records that are never read would go unnoticed.

A round begins every `log.verify.interval.ms`, the first one soon after a stop that was not clean. One piece of one
segment at a time, read in a thread, at a rate that leaves the disk to others. What is found to be damaged is read
twice (the log may have been cut or cleaned meanwhile), then handed to the partition as if a reader had met it: with
other replicas it is fetched again from the leader; a single replica is reported, and reads of it are refused.
"""

import asyncio
from concurrent.futures import Executor

from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.upkeep.rounds import PartitionTask
from barnabas.storage.damage import Damaged
from barnabas.storage.log import Log
from barnabas.storage.segment import Segment
from barnabas.storage.walk import scan

_PIECE_BYTES = 4 * 1024 * 1024
_BYTES_A_SECOND = 20 * 1024 * 1024


class Scrubber(PartitionTask):
    name = "verification"

    def __init__(self, threads: Executor) -> None:
        self._threads = threads

    def wants(self, partition: HostedPartition) -> bool:
        return partition.is_open

    async def run(self, partition: HostedPartition) -> None:
        own = partition.open().log
        unreadable: OSError | None = None
        for segment in list(own.segments):
            try:
                if not await self._segment(partition, own, segment):
                    return
            except OSError as error:  # one segment that cannot be read says nothing about the next
                if _is_current(partition, own, segment):
                    unreadable = unreadable or error
        if unreadable is not None:
            raise unreadable

    async def _segment(self, partition: HostedPartition, own: Log, segment: Segment) -> bool:
        """False when there is no use in going on with this partition. Raises Damaged once it has been reported."""
        loop, threads = asyncio.get_running_loop(), self._threads
        position, lowest = 0, segment.base_offset
        while position < segment.size:
            if not _is_current(partition, own, segment):
                return False
            begun, end = position, segment.size
            try:
                position, lowest = await loop.run_in_executor(threads, _check, own, segment, position, end, lowest)
            except Damaged:
                if not _is_current(partition, own, segment) or segment.size < end:
                    return False
                try:
                    await loop.run_in_executor(threads, _check, own, segment, position, end, lowest)
                except Damaged as damaged:
                    if _is_current(partition, own, segment) and segment.size >= end:
                        own.note_damage(damaged.damage)
                        partition.found_damaged(damaged)
                        raise
                return False
            await asyncio.sleep((position - begun) / _BYTES_A_SECOND)
        return True


def _is_current(partition: HostedPartition, own: Log, segment: Segment) -> bool:
    return not partition.deleted and not own.closed and segment in own.segments


def _check(own: Log, segment: Segment, position: int, end: int, lowest: int) -> tuple[int, int]:
    """In a thread: the batches from `position` on, a piece of them; gives where it stopped, and the offset there."""
    file = own.disk.open(segment.path)
    begun = position
    for at, header, _ in scan(own.disk, file.fd, segment.path, position, end, lowest_offset=lowest):
        position, lowest = at + header.size, header.next_offset
        if position - begun >= _PIECE_BYTES:
            break
    return position, lowest
