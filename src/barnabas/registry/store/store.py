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
from barnabas.registry.state.deciding.decision import Decision
from barnabas.registry.state.records import NOOP_KEY
from barnabas.registry.store.appending import Appended, Appender, WriterLost
from barnabas.registry.store.reading import Reader
from barnabas.registry.store.topic import ensure_topic
from barnabas.wire.records import Record

log = logging.getLogger("barnabas.registry")

_ADDRESS_HEADER = "barnabas.writer.address"
_SESSION_HEADER = "barnabas.writer.session"  # one taking of the id
_START_S = 60.0
_AGAIN_S = 0.5

Decide = Callable[[Contents], Decision]


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, as the topic's last NOOP record says."""

    address: str
    session: str


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
        self._writing = asyncio.Lock()

    async def start(self) -> None:
        """Everything that the topic has when this returns, has been read."""
        deadline = time.monotonic() + _START_S
        while True:
            try:
                await ensure_topic(self._nodes, self._topic)
                break
            except (LinkDown, UnknownApi) as problem:
                if time.monotonic() > deadline:
                    raise store_failed(f"the cluster cannot be reached: {problem}") from None
                log.warning("the cluster cannot be reached yet: %s", problem)
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
            self.writer = Writer(address, session) if address else None
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
    def writes_here(self) -> bool:
        """Whether no other instance is known to write."""
        return self.is_writer or self.writer is None or self.writer.address == self.address

    async def change(self, decide: Decide) -> tuple[Decision, int]:
        """Decides on all that was ever acknowledged, appends, and has applied it; gives the position behind it. Raises
        WriterLost when another instance writes, or when it is not known what became of the records: then ask again,
        which finds what is there."""
        async with self._writing:
            appender = await self._be_writer()
            try:
                decision = decide(self.contents)
            except RegistryError:
                await self.reader.catch_up()  # if somebody else writes by now, it may be another one's answer
                decision = decide(self.contents)
            if not decision.records:
                return decision, self.reader.position
            try:
                last = await appender.append([Appended(each.key, each.value) for each in decision.records])
            except (WriterLost, RegistryError):
                self._appender = None
                raise
            await self.reader.reached(last + 1)
            return decision, last + 1

    async def _be_writer(self) -> Appender:
        if self._appender is not None:
            return self._appender
        appender = Appender(self._nodes, self._topic, f"barnabas-registry-{self._topic}")
        await appender.take()
        self._session = uuid.uuid4().hex
        headers = ((_ADDRESS_HEADER, self.address.encode()), (_SESSION_HEADER, self._session.encode()))
        last = await appender.append([Appended(NOOP_KEY, None, headers)])
        await self.reader.reached(last + 1)
        if self.writer is None or self.writer.session != self._session:
            raise WriterLost("another instance has taken over at once", fenced=True)
        self._appender = appender
        log.info("this instance writes topic %s now", self._topic)
        return appender
