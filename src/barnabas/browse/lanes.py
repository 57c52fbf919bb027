"""One partition's part of a page: a few records at a time, onwards from an offset or back from it."""

import asyncio
from collections import deque
from typing import Protocol

from barnabas.browse.errors import NotInTime
from barnabas.browse.opening import Batch, Opener
from barnabas.browse.record import Record, Unreadable
from barnabas.browse.topic_log import RETRY_S, Fetched, TopicLog
from barnabas.model.limits import PAGE_KEPT_MAX_BYTES, PAGE_READ_MAX_BYTES
from barnabas.wire.visible import visible_batches

FETCH_BYTES = 512 * 1024  # of a partition; some pages of ordinary records
FIRST_STEP = 16  # offsets back from the end at least
WIDER = 4  # times the step before it, where that one found too little
DEAR_BYTES = 2 * 1024 * 1024  # a step that reads more than this is too wide: its later half is tried
SILENT_MAX = 100  # empty answers before the end of the log, a tenth of a second apart


class Budget:
    """Of one page: bytes that may still be fetched, and kept."""

    def __init__(self) -> None:
        self.unread = PAGE_READ_MAX_BYTES
        self.kept = PAGE_KEPT_MAX_BYTES


class Lane(Protocol):
    partition: int
    heads: deque[Record]  # read and not taken, the next one first
    reached: int  # where the next page goes on
    unreadable: list[Unreadable]

    @property
    def finished(self) -> bool:
        """Nothing is left to take or to read."""

    async def fill(self) -> None:
        """Read some more into `heads`."""

    def take(self) -> Record: ...


class _Reader:
    """What both directions share: a fetch that goes on where the log begins now, and that notices silence."""

    def __init__(self, log: TopicLog, opener: Opener, budget: Budget, partition: int) -> None:
        self.partition = partition
        self.heads: deque[Record] = deque()
        self.unreadable: list[Unreadable] = []
        self._log = log
        self._opener = opener
        self._budget = budget
        self._silent = 0

    async def _fetch(self, offset: int) -> Fetched:
        fetched = (await self._log.fetch({self.partition: offset}, FETCH_BYTES))[self.partition]
        self._budget.unread -= len(fetched.records)
        return fetched

    async def _wait(self, offset: int) -> None:
        """An answer without a whole batch before the end: a new leader that has not caught up yet."""
        self._silent += 1
        if self._silent > SILENT_MAX:
            raise NotInTime(f"{self._log.topic}-{self.partition} gives no records at offset {offset}")
        await asyncio.sleep(RETRY_S)

    def _note(self, problem: Unreadable) -> None:
        if problem not in self.unreadable:
            self.unreadable.append(problem)


class Forwards(_Reader):
    """From `offset` on, up to `end`."""

    def __init__(
        self, log: TopicLog, opener: Opener, budget: Budget, partition: int, offset: int, end: int, share: int
    ) -> None:
        super().__init__(log, opener, budget, partition)
        self._position = self.reached = offset
        self._end = end
        self._share = share

    @property
    def finished(self) -> bool:
        return not self.heads and self._position >= self._end

    def take(self) -> Record:
        record = self.heads.popleft()
        self.reached = record.offset + 1
        return record

    async def fill(self) -> None:
        fetched = await self._fetch(self._position)
        if fetched.gone:
            begins = (await self._log.starts([self.partition]))[self.partition]
            self._position = begins if begins > self._position else self._end
            self.reached = max(self.reached, self._position)
            return
        after = self._log.after(fetched, self.partition, self._position)
        if after == self._position:
            await self._wait(after)
            return
        self._silent = 0
        wanted = self._share
        for at, header in visible_batches(fetched.records, fetched.aborted, self._position, self._end, check_crc=False):
            batch = Batch(self._log.topic, self.partition, fetched.records, at, header, self._position, self._end)
            found = await self._opener.first(batch, wanted)
            if isinstance(found, Unreadable):
                self._note(found)
                continue
            records, more = found
            self.heads.extend(records)
            wanted -= len(records)
            if more or wanted <= 0:
                after = min(after, self.heads[-1].offset + 1)
                break
        self._position = after
        if not self.heads:
            self.reached = min(after, self._end)


class Backwards(_Reader):
    """Before `bound`, newest first, back to `start`."""

    def __init__(
        self, log: TopicLog, opener: Opener, budget: Budget, partition: int, bound: int, start: int, share: int
    ) -> None:
        super().__init__(log, opener, budget, partition)
        self._high = self.reached = bound  # everything from here on has been read
        self._start = start
        self._share = share
        self._step = max(share, FIRST_STEP)

    @property
    def finished(self) -> bool:
        return not self.heads and self._high <= self._start

    def take(self) -> Record:
        record = self.heads.popleft()
        self.reached = record.offset
        return record

    async def fill(self) -> None:
        low, found, more, read_bytes = await self._range(max(self._start, self._high - self._step))
        self.heads.extend(reversed(found))
        self._high = found[0].offset if more else low
        if not self.heads:
            self.reached = self._high
        if read_bytes <= FETCH_BYTES:
            self._step *= WIDER

    async def _range(self, low: int) -> tuple[int, list[Record], bool, int]:
        """The last records of [low, high): where the range begins (later than asked for when it was too dear), the
        records, whether there are more before them in the range, and bytes read."""
        found: list[Record] = []
        more = False
        position, read_bytes = low, 0
        while position < self._high:
            fetched = await self._fetch(position)
            if fetched.gone:
                begins = (await self._log.starts([self.partition]))[self.partition]
                if begins <= position:
                    await self._wait(position)
                self._start = min(begins, self._high)
                position = low = max(low, self._start)
                continue
            read_bytes += len(fetched.records)
            after = self._log.after(fetched, self.partition, position)
            if after == position:
                if position >= fetched.end:
                    break  # the end was cut off meanwhile
                await self._wait(position)
                continue
            self._silent = 0
            if after < self._high and read_bytes > DEAR_BYTES:
                position = low = (after + self._high) // 2
                self._step = self._high - low
                found, more, read_bytes = [], False, 0
                continue
            found, left = await self._last_of(fetched, position, found)
            more = more or left
            position = after
        return low, found, more, read_bytes

    async def _last_of(self, fetched: Fetched, position: int, found: list[Record]) -> tuple[list[Record], bool]:
        batches = list(visible_batches(fetched.records, fetched.aborted, position, self._high, check_crc=False))
        later: list[Record] = []
        while batches and len(later) < self._share:
            at, header = batches.pop()
            batch = Batch(self._log.topic, self.partition, fetched.records, at, header, position, self._high)
            opened = await self._opener.last(batch, self._share - len(later))
            if isinstance(opened, Unreadable):
                self._note(opened)
                continue
            later = opened[0] + later
            if opened[1]:
                return later, True
        room = self._share - len(later)
        return found[len(found) - room :] + later if room < len(found) else found + later, bool(batches) or room < len(
            found
        )
