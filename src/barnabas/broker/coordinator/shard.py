"""One coordinator: a machine of core/, the partition it lives in, and its timer."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.core.groups.effects import Reply

Answer = dict[str, Any]
Token = asyncio.Future[Answer]


class Effects(Protocol):
    @property
    def records(self) -> Sequence[tuple[bytes, bytes | None]]: ...
    @property
    def replies(self) -> "Sequence[Reply]": ...


class Machine(Protocol):
    def tick(self, now_ms: int) -> Any: ...
    def next_deadline_ms(self) -> int | None: ...
    def replay(self, key: bytes, value: bytes | None) -> object: ...
    def loaded(self, now_ms: int) -> Any: ...


M = TypeVar("M", bound=Machine)


class CoordinatorShard(Generic[M]):
    """One machine with its partition and its timer."""

    def __init__(self, partition: HostedPartition, machine: M) -> None:
        self.partition = partition
        self.machine = machine
        self.waiting: dict[Token, None] = {}  # in the order they came, so that they are let go in that order
        self.timer: asyncio.TimerHandle | None = None
        self.due_ms: int | None = None
        self.replayed_to = 0
        self.appended_to = 0  # the offset after the last record this machine rests on

    def fail(self, code: ErrorCode) -> None:
        for token in list(self.waiting):
            if not token.done():
                token.set_exception(KafkaError(code))


def release_all(replies: "Sequence[Reply]") -> None:
    for reply in replies:
        release(reply)


def release(reply: "Reply") -> None:
    token = reply.token
    if isinstance(token, asyncio.Future) and not token.done():
        token.set_result(reply.response)
