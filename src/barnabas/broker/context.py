"""Who asks, and how: what a handler may know about a request beside its body."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.broker.connection import Connection


@dataclass(slots=True)  # nobody changes it; `frozen` would triple the price of making one, and every request has one
class RequestContext:
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    client_host: str
    listener_host: str  # the address on which the client reached this node
    listener_port: int
    principal: str = "User:ANONYMOUS"
    connection: "Connection | None" = None  # None: asked inside this process, or handed on by another node
