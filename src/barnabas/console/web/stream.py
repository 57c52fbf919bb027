"""Server-sent events: a browser connects again by itself and says what it saw last (Last-Event-ID)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import NamedTuple

import msgspec
from starlette.responses import StreamingResponse

_SILENCE_SECONDS = 15.0  # then a comment is sent, so that proxies keep the connection and a dead one is noticed


class Event(NamedTuple):
    """`id` is what the browser sends when it comes again."""

    name: str
    data: object
    id: str = ""


def stream(events: AsyncIterator[Event]) -> StreamingResponse:
    return StreamingResponse(_lines(events), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def while_true(
    parts: AsyncIterable[bytes | str | memoryview], still: Callable[[], bool], ending: asyncio.Event
) -> AsyncIterator[bytes | str | memoryview]:
    """Ends an answer that goes on and on when whoever asked for it has signed out, and when the console ends: uvicorn
    would cancel it and log a traceback for each open tab."""
    ended = asyncio.ensure_future(ending.wait())
    async with aclosing(parts) as source:  # type: ignore[type-var]  # a generator
        upcoming: asyncio.Future[bytes | str | memoryview] | None = None
        pieces = aiter(source)
        try:
            while True:
                upcoming = asyncio.ensure_future(anext(pieces))
                await asyncio.wait([upcoming, ended], return_when=asyncio.FIRST_COMPLETED)
                if ended.done() or not still():
                    return
                try:
                    part = upcoming.result()
                except StopAsyncIteration:
                    return
                upcoming = None
                yield part
        finally:
            ended.cancel()
            if upcoming is not None:
                upcoming.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration):
                    await upcoming


async def _lines(events: AsyncIterator[Event]) -> AsyncIterator[bytes]:
    yield b"retry: 1000\n\n"
    async with aclosing(events) as source:  # type: ignore[type-var]  # a generator
        upcoming: asyncio.Task[Event] | None = None
        try:
            while True:
                if upcoming is None:
                    upcoming = asyncio.ensure_future(anext(source))
                done, _ = await asyncio.wait([upcoming], timeout=_SILENCE_SECONDS)
                if not done:
                    yield b": still here\n\n"
                    continue
                try:
                    event = upcoming.result()
                except StopAsyncIteration:
                    return
                upcoming = None
                yield _line(event)
        finally:
            if upcoming is not None:
                upcoming.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration):
                    await upcoming


def _line(event: Event) -> bytes:
    head = f"event: {event.name}\n" + (f"id: {event.id}\n" if event.id else "")
    return head.encode() + b"data: " + msgspec.json.encode(event.data) + b"\n\n"
