"""A request as a page's handler sees it: which cluster, which person, what was asked; and the table of routes.

    ROUTES = [
        Route("GET", "/topics", list_topics),
        Route("GET", "/topics/{topic}/messages", messages, records=True),
        Route("POST", "/topics", create_topic, change="create a topic"),
    ]

A handler gives something that becomes JSON, or a response of its own (a stream, a download). What it may not or cannot
do it raises as a Problem. Every route with another method than GET is a change: it needs the CSRF token, a role that
is not read-only, and is written down with `change` as its name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec
from starlette.requests import Request

from barnabas.console.clusters.connection import Connection
from barnabas.console.clusters.facts import Facts
from barnabas.console.options import ConsoleOptions, Role
from barnabas.console.people.roles import may_see_records
from barnabas.console.problems import Problem
from barnabas.console.web.bodies import Body, decoded

if TYPE_CHECKING:
    from barnabas.console.people.changes import Changes
    from barnabas.link.async_nodes import AsyncNodes

T = TypeVar("T")


@dataclass(slots=True)
class Call:
    request: Request
    connection: Connection
    user: str  # "" where nobody signs in
    role: Role
    options: ConsoleOptions
    changes: Changes
    incoming: Body
    _body: bytes | None = None
    names: list[str] = field(default_factory=list)  # what a change was about, for the record of changes

    @property
    def nodes(self) -> AsyncNodes:
        return self.connection.nodes

    @property
    def facts(self) -> Facts:
        return self.connection.observer.facts

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    def text(self, name: str, default: str = "") -> str:
        return self.request.query_params.get(name, default)

    def texts(self, name: str) -> list[str]:
        return self.request.query_params.getlist(name)

    def flag(self, name: str) -> bool:
        return self.text(name) in ("1", "true", "yes")

    def number(self, name: str, default: int, lowest: int = 0, highest: int = 2**63 - 1) -> int:
        told = self.text(name)
        if not told:
            return default
        try:
            value = int(told)
        except ValueError:
            raise Problem(f"{name} is a number, not {told[:100]!r}") from None
        if not lowest <= value <= highest:
            raise Problem(f"{name} is between {lowest} and {highest}, not {value}")
        return value

    async def body(self, kind: type[T]) -> T:
        """The JSON that was sent, as this msgspec.Struct; a Problem where it is not one."""
        if self._body is None:
            self._body = await self.incoming.read(self.request.stream())
        return decoded(self._body, kind)

    def must_see_records(self, topic: str) -> None:
        may_see_records(self.role, topic)


Handler = Callable[[Call], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str  # below /api/clusters/{cluster}
    handler: Handler
    records: bool = False  # shows records: the role has to allow data, and {topic} if there is one in the path
    change: str = ""

    def __post_init__(self) -> None:
        assert (self.method != "GET") == bool(self.change), f"{self.method} {self.path}: a change has a name"


def as_json(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
