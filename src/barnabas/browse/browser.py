"""What the console and the command line hold: a person's view of the records of one cluster."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, TypeVar

from barnabas.browse.errors import NoSuchRecord, NotInTime
from barnabas.browse.opening import Batch, Opener
from barnabas.browse.page import Page, read_page
from barnabas.browse.places import Place
from barnabas.browse.record import Record, Unreadable
from barnabas.browse.tail import Keep, Tail, Tailed
from barnabas.browse.topic_log import TopicLog
from barnabas.wire.visible import visible_batches

if TYPE_CHECKING:
    from barnabas.link.async_nodes import AsyncNodes

DEADLINE_S = 20.0  # of a page; a person waits
TAIL_RATE = 200  # records a second
_ONE_BATCH = 1  # a fetch of so few bytes gives the batch of the offset, whole, and no more

Connect = Callable[[], "AsyncNodes"]
Result = TypeVar("Result")


class Browser:
    """`connect` gives connections that log in as the person; each is closed by whoever asked for it. One is kept for
    short questions, every tail and every search has its own. `opener` may be shared by all browsers of a process."""

    def __init__(self, connect: Connect, opener: Opener | None = None) -> None:
        self._connect = connect
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

    def _log(self, topic: str, read_committed: bool, deadline_s: float) -> TopicLog:
        if self._nodes is None:
            self._nodes = self._connect()
        return TopicLog(self._nodes, topic, read_committed=read_committed, patience_s=deadline_s)


async def _in_time(work: Coroutine[object, object, Result], seconds: float, doing: str) -> Result:
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise NotInTime(f"could not {doing} within {seconds:.0f} s") from None
