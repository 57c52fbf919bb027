"""The contract of a coordinator. core/groups and core/txn keep it, and so will any other kind (share groups);
broker/coordinator drives whatever keeps it.

A coordinator is a state machine that lives in one partition of an internal topic, on the broker that leads it:

    machine.replay(key, value)                                  for each record of the partition's log, first of all
    effects = machine.loaded(now_ms)                            the end of the log is reached
    effects = machine.handle(request, info, now_ms, token)      a request of a client
    effects = machine.tick(now_ms)                              when `next_deadline_ms()` has come

It never waits and never reads a clock: `now_ms` is steady time. Its memory changes when a record is decided on, not
when it is committed, and is what a replay of the same records gives. Every token given to `handle` is answered exactly
once, in the effects of that call or of a later one. A KafkaError of a request becomes its answer; any other exception
is a defect, after which the driver drops the machine and replays its log. So it does when a record cannot be written:
memory is then ahead of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from barnabas.wire.messages import Request

B = TypeVar("B", bound=Mapping[str, object])
"""The body of an answer."""
_Answered = TypeVar("_Answered", contravariant=True)
_Effects = TypeVar("_Effects", covariant=True, bound="Effects")

Record: TypeAlias = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """Who asks, and in which version."""

    api_key: int
    api_version: int
    client_id: str
    client_host: str
    may_describe: Callable[[str], bool] | None = None  # which topics it may be told of; None: all of them

    @property
    def shown_host(self) -> str:
        """The host as Kafka writes and shows it: an address that was not looked up stands behind a slash."""
        return self.client_host if "/" in self.client_host else f"/{self.client_host}"


class Token(Protocol[_Answered]):
    """Stands for whoever waits for the answer to a request. A machine keeps it and never calls it: the driver does."""

    def set_result(self, result: _Answered, /) -> None: ...


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer and whom it is for. `reply` of a shard's state makes it, which checks that the two belong together."""

    token: Token[Any]  # the replies of one step are of several types
    response: Mapping[str, object]
    after_commit: bool = True


@dataclass(frozen=True, slots=True)
class Effects:
    """What a step asks the driver to do.

    It appends `records` in order, in one batch where they fit. A reply with `after_commit` leaves when everything that
    this machine has appended so far is committed (at once, when nothing is outstanding). Replies without it say nothing
    that could still be lost, and leave immediately.
    """

    records: Sequence[Record] = field(default_factory=list)
    replies: Sequence[Reply] = field(default_factory=list)
    transaction: tuple[int, int] | None = None  # producer id and epoch, when the records belong to a transaction


class Machine(Protocol[_Effects]):
    def handle(self, request: Request[B], info: RequestInfo, now_ms: int, token: Token[B], /) -> _Effects: ...

    def tick(self, now_ms: int, /) -> _Effects: ...

    def next_deadline_ms(self) -> int | None: ...

    def replay(self, key: bytes, value: bytes | None, /) -> str | None:
        """A text comes back when the record was skipped."""
        ...

    def loaded(self, now_ms: int, /) -> _Effects: ...
