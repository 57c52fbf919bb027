"""Reads the topic from its beginning, and on and on. What a transaction has not committed is never seen."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from barnabas.browse.errors import BrowseError, NoSuchTopic
from barnabas.browse.topic_log import Fetched, TopicLog
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.registry.errors import timed_out
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Record, iter_records
from barnabas.wire.visible import visible_batches

log = logging.getLogger("barnabas.registry")

_FETCH_BYTES = 4 * 1024 * 1024
_WAIT_MS = 2_000
_AT_ONCE = 200  # records, then others have their turn: about 5 ms
_AGAIN_S = 0.5
_REACHED_S = 15.0
_PARTITION = 0


class Reader:
    """`apply` is called with each record, `reset` when the topic begins anew: it was deleted and made again."""

    def __init__(
        self,
        new_nodes: Callable[[], AsyncNodes],
        topic: str,
        apply: Callable[[Record], None],
        reset: Callable[[], None],
    ) -> None:
        self._nodes, self._asking = new_nodes(), new_nodes()  # the first is held up by long polls
        self._topic = topic
        self._apply, self._reset = apply, reset
        self._log = self._new_log()
        self.position = 0  # everything before it has been applied
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._ends: asyncio.Task[int] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def topic_id(self) -> bytes:
        return self._log.topic_id

    def _new_log(self) -> TopicLog:
        return TopicLog(self._nodes, self._topic, read_committed=True)

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._nodes.close()
        self._asking.close()

    # --- waiting ----------------------------------------------------------------------------------------------------

    async def reached(self, position: int) -> None:
        """Everything before `position` has been applied. Raises where nothing is read for too long: a large topic may
        take a minute when an instance starts."""
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = position
        try:
            while (before := self.position) < position:
                done, _ = await asyncio.wait([future], timeout=_REACHED_S)
                if not done and self.position <= before:
                    raise timed_out(f"topic {self._topic} was not read up to offset {position} in time")
        finally:
            self._waiting.pop(future, None)

    async def catch_up(self) -> None:
        """Everything that anybody was told to be there is applied. Those who ask meanwhile share one question, the
        next one: that which is under way may have been answered already."""
        if self._ends is not None:
            with suppress(Exception):
                await asyncio.shield(self._ends)
        if self._ends is None:
            self._ends = asyncio.get_running_loop().create_task(self._ask_end())
        await self.reached(await asyncio.shield(self._ends))

    async def _ask_end(self) -> int:
        try:
            asked = TopicLog(self._asking, self._topic, read_committed=True, patience_s=_REACHED_S)
            await asked.open()
            return (await asked.ends([_PARTITION]))[_PARTITION]
        except (BrowseError, LinkDown, LoginFailed, UnknownApi) as problem:
            raise timed_out(f"the end of topic {self._topic} cannot be asked for: {problem}") from None
        finally:
            self._ends = None

    # --- reading ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        opened = False
        while True:
            try:
                if not opened:
                    await self._log.open()
                    opened = True
                found = await self._log.fetch({_PARTITION: self.position}, _FETCH_BYTES, wait_ms=_WAIT_MS)
                await self._take(found[_PARTITION])
                continue
            except NoSuchTopic as problem:
                log.warning("reading anew from the beginning: %s", problem)
                self._begin_anew()
            except (BrowseError, ProtocolError, LinkDown, LoginFailed, UnknownApi) as problem:
                log.warning("topic %s cannot be read just now: %s", self._topic, problem)
            except Exception:  # a defect of ours: it is told, and tried again, instead of answering old things for ever
                log.exception("topic %s cannot be read", self._topic)
            opened = False
            await asyncio.sleep(_AGAIN_S)

    def _begin_anew(self) -> None:
        self._log = self._new_log()
        self.position = 0
        self._reset()

    async def _take(self, fetched: Fetched) -> None:
        if fetched.gone:
            start = (await self._log.starts([_PARTITION]))[_PARTITION]
            if self.position < start:  # deleted from the front by somebody: what is left counts
                log.warning("topic %s begins at %d: what was before is gone", self._topic, start)
            self._begin_anew()
            self.position = start
            return
        applied = 0
        for place, header in visible_batches(fetched.records, fetched.aborted, self.position, fetched.end):
            for record in iter_records(memoryview(fetched.records)[place : place + header.size]):
                if self.position <= record.offset < fetched.end:
                    self._apply(record)
                    applied += 1
                    if applied % _AT_ONCE == 0:
                        await asyncio.sleep(0)
        self._advance(self._log.after(fetched, _PARTITION, self.position))

    def _advance(self, to: int) -> None:
        self.position = to
        for future, position in [*self._waiting.items()]:
            if self.position >= position and not future.done():
                future.set_result(None)
