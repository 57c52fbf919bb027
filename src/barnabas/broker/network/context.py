"""Who asks, and how: what a handler may know about a request beside its body."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from barnabas.broker.network.connection import Connection

B = TypeVar("B")
Answered: TypeAlias = B | Awaitable[B]
"""What a handler gives: the body of its answer, or an awaitable of it."""


class RequestContext(Struct, frozen=True):  # a frozen dataclass costs five times as much, and every request has one
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener_host: str  # the address on which the client reached this node
    listener_port: int
    principal: str = "User:ANONYMOUS"
    connection: "Connection | None" = None  # None: asked inside this process, or handed on by another node
