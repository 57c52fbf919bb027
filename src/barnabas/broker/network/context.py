"""Who asks, and how: what a handler may know about a request beside its body."""

from collections.abc import Awaitable
from typing import TypeAlias, TypeVar

from msgspec import Struct

from barnabas.broker.network.session import Session

B = TypeVar("B")
Answered: TypeAlias = B | Awaitable[B]
"""What a handler gives: the body of its answer, or an awaitable of it."""


class RequestContext(Struct, frozen=True):  # a frozen dataclass costs five times as much, and every request has one
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    session: Session
