"""What every request passes, as an ASGI application: bounds on bodies, the table of routes, errors as JSON.

Small on purpose: a look-up by id is what clients ask for thousands of times a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from barnabas.model.limits import REGISTRY_BODIES_MAX_BYTES, REGISTRY_BODY_MAX_BYTES
from barnabas.registry.access.people import People
from barnabas.registry.access.rights import Caller, Rights
from barnabas.registry.errors import RegistryError, too_large
from barnabas.registry.rest.answers import JSON, KINDS, Answer, encode
from barnabas.registry.rest.contexts import without_context
from barnabas.registry.rest.request import Request, query_of, segments_of
from barnabas.registry.rest.routes import Table
from barnabas.registry.rest.service import Service
from barnabas.registry.store.handing_on import HANDED_ON_HEADER

log = logging.getLogger("barnabas.registry")

Scope = MutableMapping[str, Any]  # ASGI's: the type of a value depends on its name
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]

_BODY_S = 30.0  # for a whole body to arrive
_TAKEN = (b"application/vnd.schemaregistry.v1+json", b"application/vnd.schemaregistry+json", b"application/json")
_ALSO_TAKEN = b"application/octet-stream"  # what some clients send where nobody has told them
_WITH_BODY = ("POST", "PUT")


class ClientLeft(Exception):
    pass


class Application:
    """`people` and `rights` where the cluster has logins."""

    def __init__(self, service: Service, people: People | None = None, rights: Rights | None = None) -> None:
        self._service = service
        self._people = people
        self._rights = rights
        self._table = Table()
        self._receiving = 0  # bytes of all bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        kind = JSON
        try:
            headers = dict(scope["headers"])
            kind = kind_wanted(headers.get(b"accept", b""))
            answer = await self._answer(scope, headers, receive)
        except RegistryError as problem:
            answer = _refusal(problem)
        except ClientLeft:
            return
        except Exception:  # a defect of ours: one request fails, and the log says where
            log.exception("a request failed")
            answer = _refusal(RegistryError(500, "Internal Server Error"))
        head = [*head_of(kind), (b"content-length", str(len(answer.body)).encode()), *answer.headers]
        await send({"type": "http.response.start", "status": answer.status, "headers": head})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive) -> Answer:
        raw: bytes = scope["raw_path"]
        asked: bytes = scope["query_string"]
        request = Request(
            scope["method"],
            raw + b"?" + asked if asked else raw,
            segments_of(raw),
            query_of(asked),
            headers,
            handed_on=HANDED_ON_HEADER in headers,
        )
        if self._people is not None:
            request.caller = await self._caller(self._people, scope, headers)
        without_context(request)
        route, found = self._table.find(request)
        size = 0
        try:
            if request.method in _WITH_BODY:
                _check_type(headers)
                size = self._expected(headers)
                request.body = await self._body(receive, size)
            if route.changes:
                await self._service.fresh()
            result = await route.handler(self._service, request, *found)
        finally:
            self._receiving -= size
        return result if isinstance(result, Answer) else Answer(200, encode(result))

    async def _caller(self, people: People, scope: Scope, headers: dict[bytes, bytes]) -> Caller:
        assert self._rights is not None
        principal = await people.principal(headers.get(b"authorization", b""))
        await self._rights.refresh()
        return Caller(self._rights, principal, scope["client"][0] if scope.get("client") else "")

    # --- bodies -----------------------------------------------------------------------------------------------------

    def _expected(self, headers: dict[bytes, bytes]) -> int:
        """What the body may take, counted before it is received."""
        told = headers.get(b"content-length")
        size = int(told) if told is not None and told.isdigit() else REGISTRY_BODY_MAX_BYTES
        if size > REGISTRY_BODY_MAX_BYTES:
            raise too_large(f"a request has at most {REGISTRY_BODY_MAX_BYTES} bytes, this one has {size}")
        if self._receiving + size > REGISTRY_BODIES_MAX_BYTES:
            raise RegistryError(503, "too many large requests at once; try again")
        self._receiving += size
        return size

    async def _body(self, receive: Receive, most: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(_BODY_S):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise ClientLeft
                    part: bytes = message.get("body", b"")
                    size += len(part)
                    if size > most:
                        raise too_large(f"a request has at most {most} bytes")
                    parts.append(part)
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
        except TimeoutError:
            raise RegistryError(408, "the request did not arrive in time") from None


def head_of(kind: bytes) -> list[tuple[bytes, bytes]]:
    """The headers of every answer."""
    return [(b"content-type", kind), (b"x-content-type-options", b"nosniff")]


def _check_type(headers: dict[bytes, bytes]) -> None:
    told = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if told and told not in _TAKEN and told != _ALSO_TAKEN:
        raise RegistryError(415, "HTTP 415 Unsupported Media Type")


def kind_wanted(accepted: bytes) -> bytes:
    """The first of ours that a client names; without any, Confluent's own."""
    if not accepted or accepted == b"*/*":
        return JSON
    named = [each.split(b";")[0].strip().lower() for each in accepted.split(b",")]
    for each in named:
        if each in KINDS:
            return each
    if any(each in (b"*/*", b"application/*") for each in named):
        return JSON
    raise RegistryError(406, "HTTP 406 Not Acceptable")


def _refusal(problem: RegistryError) -> Answer:
    headers = ((b"www-authenticate", b'Basic realm="schema registry"'),) if problem.status == 401 else ()
    return Answer(problem.status, encode({"error_code": problem.code, "message": problem.message}), headers)
