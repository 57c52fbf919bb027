"""A search of a whole topic: from where each partition begins to where it ended when the search did begin.

It is complete: what is kept of the results has a bound, what is searched has none, and `found` counts every match. The
loop fetches, a process of its own looks through the batches: no record and no pattern can hold the loop. What could not
be searched is said: batches that cannot be read, offsets that were deleted meanwhile.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from barnabas.browse.errors import NotInTime
from barnabas.browse.record import Record, Unreadable
from barnabas.browse.search.messages import Chunk, Found, Task
from barnabas.browse.search.process import SearchProcess
from barnabas.browse.search.query import Query, finder
from barnabas.browse.spans import Span
from barnabas.browse.topic_log import RETRY_S, Fetched, TopicLog
from barnabas.model.limits import SEARCH_KEPT_MAX, SEARCH_KEPT_MAX_BYTES, SEARCH_UNREADABLE_LISTED_MAX

FETCH_BYTES = 2 << 20  # the headers of its batches are walked on the loop; there may be 30,000 of them
LANES = 3  # partitions that are fetched at a time
TOLD_S = 0.25  # an update at least so often
READY_BYTES = 8 << 20  # found and not taken: then the process waits
SILENT_S = 30.0  # a leader that gives nothing before the end that it once had


@dataclass(slots=True)
class Progress:
    """`found` counts all matches. `lost` offsets were deleted before they could be read."""

    records: int = 0
    bytes: int = 0  # as they were fetched, compressed
    share: float = 0.0  # of the offsets to be searched, 0 to 1
    found: int = 0
    kept: int = 0
    lost: int = 0
    unreadable: int = 0
    unreadable_listed: list[Unreadable] = field(default_factory=list)
    done: bool = False


@dataclass(frozen=True, slots=True)
class SearchUpdate:
    records: list[Record]  # found since the last update
    progress: Progress


class Search:
    """`keep`: how many records are given; `whole`: all of them, uncut, for whoever works them off as they come."""

    def __init__(self, log: TopicLog, query: Query, keep: int = 1_000, *, whole: bool = False) -> None:
        finder(query)  # a pattern that is none is refused before anything is started
        self._log = log
        self._task = Task(query, log.topic, max(0, min(keep, SEARCH_KEPT_MAX)), SEARCH_KEPT_MAX_BYTES, whole)
        self._spans: dict[int, Span] = {}
        self._positions: dict[int, int] = {}
        self._waiting: deque[int] = deque()
        self._open = 0  # chunks that are looked through
        self._ready: list[Record] = []
        self._ready_bytes = 0
        self._taken = asyncio.Event()
        self._news = asyncio.Event()
        self.progress = Progress()

    async def run(self, spans: Mapping[int, Span]) -> AsyncGenerator[SearchUpdate, None]:
        self._spans = {each: span for each, span in spans.items() if span.end > span.start}
        self._positions = {each: span.start for each, span in self._spans.items()}
        self._waiting = deque(sorted(self._spans))
        if not self._spans:
            yield self._update(done=True)
            return
        process = SearchProcess()
        tasks: list[asyncio.Task[None]] = []
        try:
            await process.begin(self._task)
            listening = asyncio.ensure_future(self._listen(process))
            lanes = [asyncio.ensure_future(self._lane(process)) for _ in range(min(LANES, len(self._spans)))]
            tasks = [listening, *lanes]
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(TOLD_S):
                        await self._news.wait()
                self._news.clear()
                for task in tasks:
                    if task.done():
                        task.result()  # raises what went wrong
                done = not self._open and all(lane.done() for lane in lanes)
                yield self._update(done=done)
                if done:
                    return
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await process.close()

    def _update(self, *, done: bool) -> SearchUpdate:
        progress = self.progress
        total = sum(span.end - span.start for span in self._spans.values())
        passed = sum(at - self._spans[each].start for each, at in self._positions.items())
        progress.share = 1.0 if done or not total else min(1.0, passed / total)
        progress.done = done
        records, self._ready, self._ready_bytes = self._ready, [], 0
        self._taken.set()
        progress.kept += len(records)
        return SearchUpdate(records, replace(progress, unreadable_listed=list(progress.unreadable_listed)))

    # --- what the process says --------------------------------------------------------------------------------------

    async def _listen(self, process: SearchProcess) -> None:
        async for answer in process.answers():
            if isinstance(answer, Found):
                await self._put(answer.records)
                continue
            self._open -= 1
            progress = self.progress
            progress.records += answer.records
            progress.found += answer.matches
            progress.unreadable += len(answer.unreadable)
            room = SEARCH_UNREADABLE_LISTED_MAX - len(progress.unreadable_listed)
            progress.unreadable_listed += answer.unreadable[:room]
            if not self._open:
                self._news.set()

    async def _put(self, records: list[Record]) -> None:
        self._ready += records
        self._ready_bytes += sum(record.weight for record in records)
        self._news.set()
        while self._ready_bytes > READY_BYTES:
            self._taken.clear()
            await self._taken.wait()

    # --- what is fetched --------------------------------------------------------------------------------------------

    async def _lane(self, process: SearchProcess) -> None:
        """One partition after the other; the next fetch is under way while a chunk is handed over."""
        while self._waiting:
            partition = self._waiting.popleft()
            end = self._spans[partition].end
            fetching = self._begin_fetch(partition)
            try:
                while self._positions[partition] < end:
                    fetched = await fetching
                    position = self._positions[partition]
                    after = await self._after(partition, fetched)
                    self._positions[partition] = min(after, end)
                    if after < end:
                        fetching = self._begin_fetch(partition)
                    if len(fetched.records):
                        self._open += 1
                        self.progress.bytes += len(fetched.records)
                        aborted = [(producer, first) for producer, first in fetched.aborted]
                        chunk = Chunk(partition, position, end, aborted, len(fetched.records))
                        await process.look_through(chunk, fetched.records)
            finally:
                fetching.cancel()
                await asyncio.gather(fetching, return_exceptions=True)
        self._news.set()

    def _begin_fetch(self, partition: int) -> "asyncio.Task[Fetched]":
        return asyncio.ensure_future(self._fetch(partition, self._positions[partition]))

    async def _fetch(self, partition: int, offset: int) -> Fetched:
        begun = asyncio.get_running_loop().time()
        while True:
            fetched = (await self._log.fetch({partition: offset}, FETCH_BYTES))[partition]
            if fetched.gone or self._log.after(fetched, partition, offset) > offset:
                return fetched
            if asyncio.get_running_loop().time() - begun > SILENT_S:
                raise NotInTime(f"{self._log.topic}-{partition} gives no records at offset {offset}")
            await asyncio.sleep(RETRY_S)

    async def _after(self, partition: int, fetched: Fetched) -> int:
        """Where to go on; offsets that were deleted meanwhile are passed over, and counted."""
        position = self._positions[partition]
        if not fetched.gone:
            return self._log.after(fetched, partition, position)
        begins = (await self._log.starts([partition]))[partition]
        end = self._spans[partition].end
        after = min(begins, end) if begins > position else end  # the log ends before: its end was cut off
        self.progress.lost += after - position
        return after
