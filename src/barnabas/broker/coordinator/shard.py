"""One coordinator: a machine of core/, the partition it lives in, and its timer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from barnabas.broker.partition.opened import OpenPartition
from barnabas.core.coordinator.contract import Effects, Machine, Reply
from barnabas.model.errors import ErrorCode, KafkaError

M = TypeVar("M", bound=Machine[Any])  # of E, which Python cannot say: the bound of a type variable names no other
E = TypeVar("E", bound=Effects)


class Waiting(Protocol):
    """A future of an answer, whatever the answer is."""

    def done(self) -> bool: ...

    def set_exception(self, exception: BaseException, /) -> None: ...


class CoordinatorShard(Generic[M]):
    """One machine with its partition and its timer."""

    def __init__(self, opened: OpenPartition, machine: M) -> None:
        self.partition = opened.partition
        self.opened = opened
        self.machine = machine
        self.waiting: dict[Waiting, None] = {}  # in the order they came, so that they are let go in that order
        self.timer: asyncio.TimerHandle | None = None
        self.due_ms: int | None = None
        self.replayed_to = 0
        self.appended_to = 0  # the offset after the last record this machine rests on

    def fail(self, code: ErrorCode) -> None:
        for token in list(self.waiting):
            if not token.done():
                token.set_exception(KafkaError(code))


def release_all(replies: Sequence[Reply]) -> None:
    for reply in replies:
        release(reply)


def release(reply: Reply) -> None:
    token = reply.token
    if isinstance(token, asyncio.Future) and not token.done():
        token.set_result(reply.response)
