"""What the handlers work with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from barnabas.registry.errors import RegistryError, invalid_schema
from barnabas.registry.schemas.parsed import InvalidSchema
from barnabas.registry.state import names, questions
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding.registering import Checked, Wanted, check
from barnabas.registry.state.parsing import Parser, Source, source_of
from barnabas.registry.state.values import Stored
from barnabas.registry.store.handing_on import Peers
from barnabas.registry.store.store import Store

log = logging.getLogger("barnabas.registry")

Result = TypeVar("Result")

_INLINE_BYTES = 4_000  # a schema of this size is parsed in well under a millisecond
_FRESH_S = 2.0
_TURN = 1_000  # of a list, then others have their turn: about 5 ms where rights are asked for
_AT_ONCE = 4  # threads that parse and compare: what waits costs little, what runs takes the loop's time


class Service:
    def __init__(self, store: Store, peers: Peers) -> None:
        self.store = store
        self.peers = peers
        self.parser = Parser()
        self.cluster_id = ""
        self._threads = asyncio.Semaphore(_AT_ONCE)

    @property
    def contents(self) -> Contents:
        return self.store.contents

    async def in_thread(self, work: Callable[[], Result]) -> Result:
        async with self._threads:
            return await asyncio.to_thread(work)

    async def checked(self, wanted: Wanted, *, compare: bool = False) -> Checked:
        source = wanted.source
        quick = self.parser.knows(source, normalize=wanted.normalize) or source.size < _INLINE_BYTES
        if quick and not (compare and wanted.earlier):
            return check(self.parser, wanted, compare=compare)
        return await self.in_thread(lambda: check(self.parser, wanted, compare=compare))

    async def formatted(self, stored: Stored, format: str) -> str | None:
        """None: as it is stored."""
        if not format.strip():
            return None
        source = source_of(self.contents, stored)
        if source.size < _INLINE_BYTES:
            return self._formatted(source, format)
        return await self.in_thread(lambda: self._formatted(source, format))

    def _formatted(self, source: Source, format: str) -> str:
        try:
            return self.parser.parse(source).formatted(format)
        except InvalidSchema as problem:
            raise invalid_schema(f"Invalid schema of type {source.type}, details: {problem}") from None

    async def some(self, subjects: Iterable[Sequence[Result]], page: slice) -> list[Result]:
        """A page of what many subjects have, each perhaps nothing, without holding the loop."""
        chosen: list[Result] = []
        seen = looked_at = 0
        for found in subjects:
            for each in found:
                if page.start <= seen < page.stop:
                    chosen.append(each)
                seen += 1
            if seen >= page.stop:
                break
            looked_at += 1 + len(found)
            if looked_at > _TURN:
                looked_at = 0
                await asyncio.sleep(0)
        return chosen

    async def fresh(self) -> None:
        """Before something is answered that changes (what is the latest version?) by an instance that is not sure to be
        the one that writes: what others have acknowledged is read first. While the cluster cannot be asked, what is
        known is answered."""
        if self.store.is_surely_writer:
            return
        try:
            async with asyncio.timeout(_FRESH_S):
                await self.store.catch_up()
        except (RegistryError, TimeoutError):
            log.warning("the end of the topic cannot be asked for: answering what is known")

    async def found(self, look: Callable[[], Result]) -> Result:
        """What is not here may have been registered at another instance a moment ago: before that is said, everything
        that was acknowledged anywhere is read."""
        try:
            return look()
        except RegistryError as problem:
            if problem.status != 404 or problem.code == 404:
                raise
        await self.store.reader.catch_up()
        return look()

    def real_subject(self, subject: str) -> str:
        """Behind an alias."""
        config = questions.own_config(self.contents, subject)
        if config is None or not config.alias:
            return subject
        return names.in_context_of(subject, config.alias)
