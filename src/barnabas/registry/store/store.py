"""The contents as the topic has them, and the one way to change them."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.registry.errors import RegistryError, store_failed
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding.decision import Batch, Decision, Later
from barnabas.registry.state.records import NOOP_KEY
from barnabas.registry.store.appending import Appended, Appender, WriterLost
from barnabas.registry.store.reading import Reader
from barnabas.registry.store.topic import ensure_topic
from barnabas.wire.records import Record

log = logging.getLogger("barnabas.registry")

_ADDRESS_HEADER = "barnabas.writer.address"
_SESSION_HEADER = "barnabas.writer.session"  # one taking of the id
_TOPIC_HEADER = "barnabas.writer.topic"  # its id: a copy of the topic has another writer than what it was copied from
_START_S = 60.0
_AGAIN_S = 0.5
_SURE_S = 1.0  # less than another one waits for an answer before it takes over (handing_on.py)
_BATCH_CHANGES, _BATCH_BYTES = 50, 1024 * 1024  # of one transaction

Decide = Callable[[Contents, Batch], Decision]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, as the topic's last NOOP record says."""

    address: str
    session: str


@dataclass(slots=True, eq=False)
class _Waiting:
    """A change, and whoever waits for it."""

    decide: Decide
    together: bool
    done: asyncio.Future[tuple[Decision, int]]

    def finish(self, decision: Decision, position: int) -> None:
        if not self.done.done():
            self.done.set_result((decision, position))

    def fail(self, problem: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(problem)
            self.done.exception()  # a client that has gone away is not complained about


class Store:
    """`address` is where other instances reach this one."""

    def __init__(self, new_nodes: Callable[[], AsyncNodes], topic: str, address: str) -> None:
        self.address = address
        self.contents = Contents()
        self.writer: Writer | None = None
        self.reader = Reader(new_nodes, topic, self._apply, self._reset)
        self._topic = topic
        self._nodes = new_nodes()
        self._appender: Appender | None = None
        self._session = ""
        self._checked_at = -_SURE_S  # when everything that was acknowledged anywhere was known here
        self._writing = asyncio.Lock()
        self._waiting: list[_Waiting] = []

    async def start(self) -> None:
        """Everything that the topic has when this returns, has been read."""
        deadline, said = time.monotonic() + _START_S, ""
        while True:
            try:
                await ensure_topic(self._nodes, self._topic)
                break
            except (LinkDown, UnknownApi) as problem:
                if time.monotonic() > deadline:
                    raise store_failed(f"the cluster cannot be reached: {problem}") from None
                if said != str(problem):
                    said = str(problem)
                    log.warning("the cluster cannot be reached yet: %s. Trying for %d s", said, _START_S)
                await asyncio.sleep(_AGAIN_S)
            except LoginFailed as problem:
                raise store_failed(str(problem)) from None
        self.reader.start()
        await self.reader.catch_up()

    async def cluster_id(self) -> str:
        try:
            return (await self._nodes.look_up([])).cluster_id or ""
        except (LinkDown, UnknownApi) as problem:
            raise store_failed(f"the cluster cannot be reached: {problem}") from None

    async def stop(self) -> None:
        await self.reader.stop()
        self._nodes.close()

    # --- reading ----------------------------------------------------------------------------------------------------

    def _apply(self, record: Record) -> None:
        if record.key == NOOP_KEY:
            told = {name: (value or b"").decode(errors="replace") for name, value in record.headers}
            address, session = told.get(_ADDRESS_HEADER, ""), told.get(_SESSION_HEADER, "")
            is_copied = told.get(_TOPIC_HEADER, "") != self.reader.topic_id.hex()
            self.writer = Writer(address, session) if address and not is_copied else None
            if session != self._session:
                self._appender = None  # the cluster refuses what it would write
            return
        self.contents.apply(record.offset, record.key, record.value, record.timestamp)

    def _reset(self) -> None:
        self.contents = Contents()
        self.writer = None
        self._appender = None

    # --- writing ----------------------------------------------------------------------------------------------------

    @property
    def is_writer(self) -> bool:
        return self._appender is not None

    @property
    def is_surely_writer(self) -> bool:
        """A process that was paused still believes so when another one has taken over, and has not read that yet."""
        return self.is_writer and time.monotonic() - self._checked_at < _SURE_S

    async def catch_up(self) -> None:
        asked_at = time.monotonic()
        await self.reader.catch_up()
        self._checked_at = max(self._checked_at, asked_at)

    @property
    def writes_here(self) -> bool:
        """Whether no other instance is known to write."""
        return self.is_writer or self.writer is None or self.writer.address == self.address

    async def change(self, decide: Decide, *, together: bool = False) -> tuple[Decision, int]:
        """Decides on all that was ever acknowledged, appends, and has applied it; gives the position behind it. Raises
        WriterLost when another instance writes, or when it is not known what became of the records: then ask again,
        which finds what is there. `together`: it may share a transaction with others that may."""
        waiting = _Waiting(decide, together, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        try:
            while not waiting.done.done():
                # a task of its own: a client that leaves must not leave half a transaction behind
                await asyncio.shield(asyncio.get_running_loop().create_task(self._round(waiting)))
            return waiting.done.result()
        finally:
            if waiting in self._waiting:
                self._waiting.remove(waiting)

    async def _round(self, waiting: _Waiting) -> None:
        async with self._writing:
            if waiting.done.done():
                return  # somebody else's round had it
            try:
                appender = await self._be_writer()
            except (WriterLost, RegistryError) as problem:
                waiting.fail(problem)
                return
            chosen, refused = self._decided()
            if chosen:
                await self._append(appender, chosen)
            if refused:
                await self._refuse(refused)

    def _decided(self) -> tuple[list[tuple[_Waiting, Decision]], list[_Waiting]]:
        """As many from the front as may go together, and those that were refused."""
        batch, size = Batch(), 0
        chosen: list[tuple[_Waiting, Decision]] = []
        refused: list[_Waiting] = []
        for waiting in [*self._waiting]:
            if chosen and not (waiting.together and chosen[0][0].together):
                break
            try:
                decision = waiting.decide(self.contents, batch)
            except Later:
                continue
            except RegistryError:
                refused.append(waiting)
            except Exception as problem:  # told to the one who waits: Stale, or a defect of ours
                waiting.fail(problem)
            else:
                if decision.records:
                    chosen.append((waiting, decision))
                    size += sum(len(each.value or b"") for each in decision.records)
                else:
                    waiting.finish(decision, self.reader.position)
            self._waiting.remove(waiting)
            if size > _BATCH_BYTES or len(chosen) >= _BATCH_CHANGES:
                break
        return chosen, refused

    async def _append(self, appender: Appender, chosen: list[tuple[_Waiting, Decision]]) -> None:
        records = [Appended(each.key, each.value) for _, decision in chosen for each in decision.records]
        began = time.monotonic()
        try:
            last = await appender.append(records)
            await self.reader.reached(last + 1)
            self._checked_at = max(self._checked_at, began)
        except Exception as problem:  # told to those who wait
            self._appender = None
            for waiting, _ in chosen:
                waiting.fail(problem)
            return
        for waiting, decision in chosen:
            waiting.finish(decision, last + 1)

    async def _refuse(self, refused: list[_Waiting]) -> None:
        """If somebody else writes by now, it may be another one's answer."""
        try:
            await self.reader.catch_up()
        except RegistryError as problem:
            for waiting in refused:
                waiting.fail(problem)
            return
        for waiting in refused:
            try:
                waiting.decide(self.contents, Batch())
            except Exception as problem:  # likewise
                waiting.fail(problem)
            else:
                self._waiting.append(waiting)

    async def _be_writer(self) -> Appender:
        if self._appender is not None:
            return self._appender
        appender = Appender(self._nodes, self._topic, f"barnabas-registry-{self._topic}")
        await appender.take()
        self._session = uuid.uuid4().hex
        headers = (
            (_ADDRESS_HEADER, self.address.encode()),
            (_SESSION_HEADER, self._session.encode()),
            (_TOPIC_HEADER, appender.topic_id.hex().encode()),
        )
        last = await appender.append([Appended(NOOP_KEY, None, headers)])
        await self.reader.reached(last + 1)
        if self.writer is None or self.writer.session != self._session:
            raise WriterLost("another instance has taken over at once", fenced=True)
        self._appender = appender
        log.info("this instance writes topic %s now", self._topic)
        return appender
