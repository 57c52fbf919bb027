"""What the console and the command line hold: a person's view of the records of one cluster."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from barnabas.browse.errors import BrowseError, NoSuchRecord, NotInTime
from barnabas.browse.opening import Batch, Opener
from barnabas.browse.page import Page, read_page
from barnabas.browse.places import Place
from barnabas.browse.record import Record, Unreadable
from barnabas.browse.redrive import Found, Manner, Redriven, redrive
from barnabas.browse.search.query import Query
from barnabas.browse.search.search import Search, SearchUpdate
from barnabas.browse.sending import NewRecord, Sent, send_all
from barnabas.browse.spans import Bound, Span, spans_between
from barnabas.browse.tail import Keep, Tail, Tailed
from barnabas.browse.topic_log import TopicLog
from barnabas.model.limits import REDRIVEN_COORDINATES_MAX, SEARCHES_AT_ONCE_MAX
from barnabas.wire.visible import visible_batches

if TYPE_CHECKING:
    from barnabas.link.async_nodes import AsyncNodes

DEADLINE_S = 20.0  # of a page; a person waits
SEND_S = 60.0
TAIL_RATE = 200  # records a second
SEARCH_KEEP = 1_000
SEARCH_PATIENCE_S = 60.0  # a search of minutes outlives a leader
EVERYTHING = Query("expression", "offset >= 0")
DEFAULT_MANNER = Manner()
_ONE_BATCH = 1  # a fetch of so few bytes gives the batch of the offset, whole, and no more

Connect = Callable[[], "AsyncNodes"]
Result = TypeVar("Result")


class Browser:
    """`connect` gives connections that log in as the person; each is closed by whoever asked for it. One is kept for
    short questions, every tail and every search has its own. `opener` and `searches` (how many run at a time) are to be
    shared by all browsers of a process."""

    def __init__(
        self, connect: Connect, opener: Opener | None = None, searches: asyncio.Semaphore | None = None
    ) -> None:
        self._connect = connect
        self._searches = searches or asyncio.Semaphore(SEARCHES_AT_ONCE_MAX)
        self._opener = opener or Opener()
        self._nodes: AsyncNodes | None = None

    def close(self) -> None:
        if self._nodes is not None:
            self._nodes.close()
            self._nodes = None

    async def page(
        self,
        topic: str,
        place: Place,
        count: int = 50,
        partitions: Iterable[int] | None = None,
        *,
        read_committed: bool = False,
        deadline_s: float = DEADLINE_S,
    ) -> Page:
        """Records around a place, over all partitions or those that are named."""
        log = self._log(topic, read_committed, deadline_s)
        return await _in_time(read_page(log, self._opener, place, count, partitions), deadline_s, f"read {topic}")

    async def one(self, topic: str, partition: int, offset: int, *, deadline_s: float = DEADLINE_S) -> Record:
        """One record, whole. NoSuchRecord where the log has none."""
        log = self._log(topic, False, deadline_s)
        return await _in_time(self._one(log, partition, offset), deadline_s, f"read {topic}-{partition}-{offset}")

    async def _one(self, log: TopicLog, partition: int, offset: int) -> Record:
        await log.open([partition])
        place = f"{log.topic}-{partition} has no record at offset {offset}"
        fetched = (await log.fetch({partition: offset}, _ONE_BATCH))[partition]
        if fetched.gone:
            start = (await log.starts([partition]))[partition]
            raise NoSuchRecord(
                f"{place}: its log begins at {start} and ends at {(await log.ends([partition]))[partition]}"
            )
        for at, header in visible_batches(fetched.records, (), offset, offset + 1, check_crc=False):
            batch = Batch(log.topic, partition, fetched.records, at, header, offset, offset + 1)
            found = await self._opener.first(batch, 1, whole=True)
            if isinstance(found, Unreadable):
                raise NoSuchRecord(f"the batch of {log.topic}-{partition}-{offset} cannot be read: {found.reason}")
            if found[0]:
                return found[0][0]
        raise NoSuchRecord(f"{place}: it was compacted away, is a marker of a transaction, or is not written yet")

    async def tail(
        self,
        topic: str,
        partitions: Iterable[int] | None = None,
        offsets: Mapping[int, int] | None = None,
        *,
        rate: int = TAIL_RATE,
        keep: Keep | None = None,
        read_committed: bool = False,
    ) -> AsyncGenerator[Tailed, None]:
        """The records that come from now on, or from `offsets` on where given, until it is closed (aclose); at most
        `rate` a second. The first event comes at once: what is written after it is not missed. Then one comes at
        least every second or so, also when nothing does. `keep` says which are wanted; it must be quick."""
        nodes = self._connect()
        try:
            log = TopicLog(nodes, topic, read_committed=read_committed, patience_s=float("inf"))
            async with aclosing(Tail(log, self._opener, rate, keep).run(partitions, offsets)) as events:
                async for event in events:
                    yield event
        finally:
            nodes.close()

    async def search(
        self,
        topic: str,
        query: Query,
        spans: Mapping[int, Span] | None = None,
        partitions: Iterable[int] | None = None,
        *,
        keep: int = SEARCH_KEEP,
        whole: bool = False,
        read_committed: bool = False,
    ) -> AsyncGenerator[SearchUpdate, None]:
        """Every record of the topic that matches, from where it begins to where it ends now, or within `spans`. Updates
        come as there are some, and every quarter of a second; the last one is done. Closing it (aclose) cancels. At
        most `keep` records are given, and every match is counted; `whole` gives all of them, uncut, as they are taken.
        BadExpression when the query is none. Two searches of a process run at a time, others wait for their turn."""
        nodes = self._connect()
        try:
            log = TopicLog(nodes, topic, read_committed=read_committed, patience_s=SEARCH_PATIENCE_S)
            found = Search(log, query, keep, whole=whole)
            chosen = await log.open(partitions)
            ranges = await self.spans(topic, partitions=chosen, read_committed=read_committed)
            if spans is not None:
                ranges = {each: _within(span, spans[each]) for each, span in ranges.items() if each in spans}
            async with self._searches, aclosing(found.run(ranges)) as updates:
                async for update in updates:
                    yield update
        finally:
            nodes.close()

    async def spans(
        self,
        topic: str,
        start: Bound | None = None,
        end: Bound | None = None,
        partitions: Iterable[int] | None = None,
        *,
        read_committed: bool = False,
        deadline_s: float = DEADLINE_S,
    ) -> dict[int, Span]:
        """The offsets of each partition between two bounds, within what it holds; None: all of it."""
        log = self._log(topic, read_committed, deadline_s)
        return await _in_time(spans_between(log, start, end, partitions), deadline_s, f"read {topic}")

    async def send(self, topic: str, records: Sequence[NewRecord], *, deadline_s: float = SEND_S) -> list[Sent]:
        """Writes these records; gives where, in their order. At least once: a failure may leave some written."""
        log = self._log(topic, False, deadline_s)
        return await _in_time(send_all(log, records), deadline_s, f"write to {topic}")

    async def redrive(
        self,
        topic: str,
        target: str | None,
        what: Sequence[tuple[int, int]] | Query | None = None,
        spans: Mapping[int, Span] | None = None,
        partitions: Iterable[int] | None = None,
        *,
        manner: Manner = DEFAULT_MANNER,
        read_committed: bool = True,
    ) -> AsyncGenerator[Redriven, None]:
        """Sends records of `topic` to `target`: those at the given partitions and offsets, or all that a query finds,
        or (None) all, within `spans`. Target None sends nothing and counts: the preview. Closing it cancels."""
        log = None if target is None else self._log(target, False, SEARCH_PATIENCE_S)
        if log is not None:
            await log.open()  # before anything is read
        found = (
            self._at(topic, what)
            if what is not None and not isinstance(what, Query)
            else self._matching(topic, what or EVERYTHING, spans, partitions, read_committed)
        )
        async with aclosing(found), aclosing(redrive(found, log, manner)) as updates:
            async for update in updates:
                yield update

    async def _at(self, topic: str, places: Sequence[tuple[int, int]]) -> AsyncGenerator[Found, None]:
        if len(places) > REDRIVEN_COORDINATES_MAX:
            raise BrowseError(f"at most {REDRIVEN_COORDINATES_MAX} records can be named, not {len(places)}")
        for number, (partition, offset) in enumerate(places, 1):
            yield Found([await self.one(topic, partition, offset)], number / len(places))

    async def _matching(
        self,
        topic: str,
        query: Query,
        spans: Mapping[int, Span] | None,
        partitions: Iterable[int] | None,
        read_committed: bool,
    ) -> AsyncGenerator[Found, None]:
        searching = self.search(topic, query, spans, partitions, whole=True, read_committed=read_committed)
        async with aclosing(searching) as updates:
            async for update in updates:
                yield Found(update.records, update.progress.share)

    def _log(self, topic: str, read_committed: bool, deadline_s: float) -> TopicLog:
        if self._nodes is None:
            self._nodes = self._connect()
        return TopicLog(self._nodes, topic, read_committed=read_committed, patience_s=deadline_s)


def _within(span: Span, asked: Span) -> Span:
    return Span(max(span.start, asked.start), min(span.end, asked.end))


async def _in_time(work: Coroutine[object, object, Result], seconds: float, doing: str) -> Result:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise NotInTime(f"could not {doing} within {seconds:.0f} s") from None
