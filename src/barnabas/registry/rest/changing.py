"""A change: decided and written here where this instance writes, else handed on to the one that does.

The answer leaves when this instance has applied the change, whoever wrote it: whoever asks here next finds it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable

from barnabas.registry.errors import RegistryError, not_handed_on
from barnabas.registry.rest.answers import Answer, encode
from barnabas.registry.rest.request import Request
from barnabas.registry.rest.service import Service
from barnabas.registry.state.contents import Contents
from barnabas.registry.state.deciding.decision import Batch, Decision
from barnabas.registry.store.appending import WriterLost
from barnabas.registry.store.handing_on import NobodyAnswers, hand_on

log = logging.getLogger("barnabas.registry")

POSITION_HEADER = b"x-barnabas-position"  # of an answer: behind the records of the change
_PATIENCE_S = 25.0
_NOT_THE_WRITER = "another instance writes now"

Decide = Callable[[Contents, Batch], Decision]
Prepare = Callable[[], Awaitable[Decide]]


class Stale(Exception):
    """The contents have changed since a decision was prepared."""


def alone(decide: Callable[[Contents], Decision]) -> Prepare:
    """Of a change that takes no time to prepare, and that is appended by itself."""

    async def prepare() -> Decide:
        return lambda contents, batch: decide(contents)

    return prepare


async def change(
    service: Service,
    request: Request,
    prepare: Prepare,
    shown: Callable[[object], object] = lambda answer: answer,
    *,
    together: bool = False,
) -> object:
    """`prepare` does what takes long, and gives what decides. Raises RegistryError."""
    deadline = time.monotonic() + _PATIENCE_S
    store = service.store
    take_over = False
    while True:
        if request.handed_on and not store.writes_here:
            await store.reader.catch_up()
            if not store.writes_here:
                raise not_handed_on(_NOT_THE_WRITER)
        try:
            if take_over or store.writes_here:
                decision, position = await store.change(await prepare(), together=together)
                return _answer(shown(decision.answer), position)
            assert store.writer is not None
            answer = _passed_back(await hand_on(service.peers, store.writer.address, request))
            if not _says_not_the_writer(answer):
                position = int(dict(answer.headers).get(POSITION_HEADER, b"0"))
                await store.reader.reached(position)
                return answer
            reason = _NOT_THE_WRITER
            take_over = False
        except Stale:
            continue
        except NobodyAnswers as problem:
            log.warning("the instance that writes does not answer, this one takes over: %s", problem)
            take_over = True
            reason = str(problem)
        except WriterLost as problem:
            log.warning("a change was not written: %s", problem)
            take_over = take_over and not problem.fenced
            reason = str(problem)
            if request.handed_on and problem.fenced:
                raise not_handed_on(_NOT_THE_WRITER) from None
        if time.monotonic() > deadline:
            raise not_handed_on(f"the change could not be written: {reason}")
        if not take_over:
            await asyncio.sleep(random.uniform(0.02, 0.1))
            await store.reader.catch_up()


def _answer(shown: object, position: int) -> Answer:
    return Answer(200, encode(shown), ((POSITION_HEADER, str(position).encode()),))


def _passed_back(told: tuple[int, dict[bytes, bytes], bytes]) -> Answer:
    status, headers, body = told
    return Answer(status, body, tuple((name, headers[name]) for name in (POSITION_HEADER,) if name in headers))


def _says_not_the_writer(answer: Answer) -> bool:
    return answer.status == RegistryError(50003, "").status and _NOT_THE_WRITER.encode() in answer.body
