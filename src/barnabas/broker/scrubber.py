"""Reads every log now and then, slowly, and checks its CRCs: bytes that nobody asks for go bad unnoticed.

A round begins every `log.verify.interval.ms`, the first one soon after a stop that was not clean. One piece of one
segment at a time, read in a thread, at a rate that leaves the disk to others. What is found to be damaged is looked at
twice (the log may have been cut or cleaned meanwhile), then handed to the partition as if a reader had met it: with
other replicas it is filled again from them, alone it is reported and refused to whoever asks for it.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from barnabas.broker.partition import HostedPartition
from barnabas.storage.damage import Damaged
from barnabas.storage.log import Log
from barnabas.storage.segment import Segment
from barnabas.storage.walk import scan

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_PIECE_BYTES = 4 * 1024 * 1024
_BYTES_A_SECOND = 20 * 1024 * 1024
FIRST_SECONDS = 5.0  # after an unclean start


class Scrubber:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._running: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin a round, unless one is under way."""
        if self._running is None:
            self._running = asyncio.ensure_future(self._round())
            self._running.add_done_callback(self._done)

    async def _round(self) -> None:
        for partition in list(self._node.partitions.open_ones()):
            for segment in list(partition.log.segments):
                if not await self._segment(partition, partition.log, segment):
                    break

    async def _segment(self, partition: HostedPartition, own: Log, segment: Segment) -> bool:
        """False when there is no use in going on with this partition."""
        loop, threads = asyncio.get_running_loop(), self._node.read_threads
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
                return False
            except OSError as error:
                log.warning("%s cannot be verified: %s", segment.path, error.strerror or error)
                return True
            await asyncio.sleep((position - begun) / _BYTES_A_SECOND)
        return True

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._running = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("verifying the logs failed, it is tried again: %s", error)

    def stop(self) -> None:
        if self._running is not None:
            self._running.cancel()


def _is_current(partition: HostedPartition, own: Log, segment: Segment) -> bool:
    return not partition.deleted and not own.closed and partition.log is own and segment in own.segments


def _check(own: Log, segment: Segment, position: int, end: int, lowest: int) -> tuple[int, int]:
    """In a thread: the batches from `position` on, a piece of them; gives where it stopped, and the offset there."""
    file = own.disk.open(segment.path)
    begun = position
    for at, header, _ in scan(own.disk, file.fd, segment.path, position, end, lowest_offset=lowest):
        position, lowest = at + header.size, header.next_offset
        if position - begun >= _PIECE_BYTES:
            break
    return position, lowest
