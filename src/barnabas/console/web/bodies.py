"""What browsers send: read with a bound each and one for all of them, and decoded with one line for what is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import msgspec

from barnabas.console.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")
Int16 = Annotated[int, msgspec.Meta(ge=-(2**15), lt=2**15)]  # numbers as the protocol has them: what does not fit
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]  # is told in one line, before it is sent
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Offset = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
BODY_MAX_BYTES = 16 * 1024 * 1024  # a record of 10 MB, in base64
ALL_BODIES_MAX_BYTES = 64 * 1024 * 1024  # that are held at one time, by whomever


class Bodies:
    """How much of all requests is held at the moment."""

    def __init__(self, most: int = ALL_BODIES_MAX_BYTES) -> None:
        self._most = most
        self.held = 0

    @contextmanager
    def of_request(self) -> Iterator[Body]:
        body = Body(self)
        try:
            yield body
        finally:
            self.held -= body.size

    def take(self, size: int) -> None:
        if self.held + size > self._most:
            raise Problem("the console has too much to do at the moment", "Try again.", 503)
        self.held += size


class Body:
    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies
        self.size = 0

    async def read(self, parts: AsyncIterator[bytes], most: int = BODY_MAX_BYTES) -> bytes:
        found: list[bytes] = []
        async for part in parts:
            if self.size + len(part) > most:
                raise Problem(f"a request may have {most // 1024} KiB", status=413)
            self._bodies.take(len(part))
            self.size += len(part)
            found.append(part)
        return b"".join(found)


def decoded(data: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(data or b"{}", type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:  # ValidationError is one
        raise Problem(f"the request cannot be read: {error}") from None
    except RecursionError:
        raise Problem("the request cannot be read: it is nested too deeply") from None
