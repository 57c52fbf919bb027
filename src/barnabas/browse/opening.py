"""Opening batches beside a loop that others use: small ones at once, large ones in a thread, few of those at a time."""

import asyncio
from collections.abc import Callable, Iterable

from barnabas.browse.record import Record, Unreadable, first_of, last_of, records_within, shown
from barnabas.model.limits import OPENED_AT_ONCE_MAX
from barnabas.wire.batch import BatchHeader
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Record as WireRecord

SMALL_BYTES = 64 * 1024  # compressed text opens to five to twenty times as much: some milliseconds
SMALL_COUNT = 5_000  # records of a batch that are walked on the loop, a microsecond each

Choose = Callable[[Iterable[WireRecord], int], tuple[list[WireRecord], bool]]


class Opener:
    """One for all that a process reads for people: it bounds the memory of opened batches."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(OPENED_AT_ONCE_MAX)

    async def first(self, where: "Batch", most: int, *, whole: bool = False) -> tuple[list[Record], bool] | Unreadable:
        """So many records from the beginning of the range, and whether it has more."""
        return await self._open(where, first_of, most, whole)

    async def last(self, where: "Batch", most: int) -> tuple[list[Record], bool] | Unreadable:
        """So many records from its end, in their order, and whether there are more before them."""
        return await self._open(where, last_of, most, False)

    async def _open(
        self, where: "Batch", choose: Choose, most: int, whole: bool
    ) -> tuple[list[Record], bool] | Unreadable:
        if where.header.size <= SMALL_BYTES and where.header.record_count <= SMALL_COUNT:
            return where.open(choose, most, whole)
        async with self._turn:
            return await asyncio.to_thread(where.open, choose, most, whole)


class Batch:
    """A batch of an answer, of which the records between two offsets are wanted."""

    __slots__ = ("bytes", "end", "header", "partition", "start", "topic")

    def __init__(
        self, topic: str, partition: int, records: memoryview, at: int, header: BatchHeader, start: int, end: int
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.header = header
        self.bytes = records[at : at + header.size]
        self.start = start
        self.end = end

    def open(self, choose: Choose, most: int, whole: bool) -> tuple[list[Record], bool] | Unreadable:
        header = self.header
        try:
            kept, more = choose(records_within(self.bytes, header, self.start, self.end), most)
        except ProtocolError as problem:
            return Unreadable(self.partition, header.base_offset, header.last_offset, str(problem))
        return [shown(self.topic, self.partition, header, each, whole=whole) for each in kept], more
