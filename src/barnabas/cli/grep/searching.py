"""Runs the search of `barnabas grep` and prints what it finds as it comes; on a terminal, stderr says how far it is."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvloop

from barnabas.browse import Bound, BrowseError, Browser, Connect, NoSuchTopic, Query, Record, SearchUpdate
from barnabas.cli.common import human
from barnabas.cli.common.cluster import CLIENT_ID
from barnabas.cli.common.failure import Failure, warn
from barnabas.cli.common.link import CONNECT_TIMEOUT_S, SERVING_S, no_topic
from barnabas.cli.common.login import login_for
from barnabas.cli.common.moments import BEGINNING, Position
from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.errors import LinkDown, LoginFailed

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from barnabas.browse import Progress
    from barnabas.cli.consume.formats import Render
    from barnabas.client.common.rdkafka import RawHeaders

REDRAW_S = 0.2


@dataclass(frozen=True, slots=True)
class Wanted:
    topic: str
    query: Query
    start: Position | None
    stop: Position | None
    partitions: Sequence[int] | None
    committed: bool
    most: int | None  # records to print; 0: only count, None: all


def run(bootstrap: str, wanted: Wanted, render: Render) -> int:
    """How many were found (printed, where there is a most)."""
    from barnabas.client.common.connection import addresses, ensure_listening
    from barnabas.client.errors import CannotReach

    try:
        ensure_listening(bootstrap, CONNECT_TIMEOUT_S)
    except CannotReach as problem:
        raise Failure(str(problem)) from None
    login = login_for(bootstrap)
    options = AsyncOptions(CLIENT_ID, SERVING_S, tls=login.tls, credentials=login.credentials)
    places = addresses(bootstrap)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        try:
            return runner.run(_run(lambda: AsyncNodes(places, options), wanted, render))
        except NoSuchTopic as problem:
            if f"{wanted.topic!r}" in str(problem):
                raise no_topic(wanted.topic, runner.run(_names(AsyncNodes(places, options)))) from None
            raise Failure(str(problem)) from None
        except (BrowseError, LinkDown, LoginFailed) as problem:
            reaches = "cannot reach" in str(problem)
            raise Failure(str(problem), "Is a node up? Try: barnabas up" if reaches else "") from None


async def _run(connect: Connect, wanted: Wanted, render: Render) -> int:
    browser = Browser(connect)
    line = _Line()
    printed = 0
    try:
        async with aclosing(await _search(browser, wanted)) as updates:
            async for update in updates:
                line.clear()
                records = update.records if wanted.most is None else update.records[: wanted.most - printed]
                if records:
                    sys.stdout.buffer.write(render([_Message(each) for each in records]))
                    sys.stdout.buffer.flush()
                    printed += len(records)
                if wanted.most and printed >= wanted.most:
                    return printed
                line.draw(update.progress)
        line.clear()
        _tell_of_gaps(wanted.topic, update.progress)
        return update.progress.found
    finally:
        line.clear()
        browser.close()


async def _search(browser: Browser, wanted: Wanted) -> AsyncGenerator[SearchUpdate, None]:
    committed = wanted.committed
    start = _bound(wanted.start)
    stop = Bound("offset", 0) if wanted.stop == BEGINNING else _bound(wanted.stop)
    spans = await browser.spans(wanted.topic, start, stop, wanted.partitions, read_committed=committed)
    whole = wanted.most != 0
    return browser.search(
        wanted.topic, wanted.query, spans, wanted.partitions, keep=0, whole=whole, read_committed=committed
    )


def _bound(place: Position | None) -> Bound | None:
    if place is None or place.kind == "beginning":
        return None
    if place.kind == "end":
        return Bound("tail", 0)
    return Bound(place.kind, place.value)


def _tell_of_gaps(topic: str, progress: Progress) -> None:
    if progress.lost:
        warn(f"{human.plural(progress.lost, 'offset')} of {topic} were deleted before they could be searched")
    for each in progress.unreadable_listed[:3]:
        where = f"{topic}-{each.partition}, offsets {each.first_offset} to {each.last_offset}"
        warn(f"could not be read and was not searched: {where}: {each.reason}")
    if progress.unreadable > 3:
        warn(f"the same of {human.plural(progress.unreadable - 3, 'more batch', 'more batches')}")


async def _names(nodes: AsyncNodes) -> list[str]:
    try:
        answer = await nodes.look_up(None)
        return [each.name for each in answer.topics if each.name and not each.name.startswith("__")]
    finally:
        nodes.close()


class _Line:
    """The progress on stderr, where that is a terminal."""

    def __init__(self) -> None:
        self._shown = False
        self._on = sys.stderr.isatty()
        self._begun = self._drawn = time.monotonic()

    def draw(self, progress: Progress) -> None:
        now = time.monotonic()
        if not self._on or now - self._drawn < REDRAW_S:
            return
        self._drawn, self._shown = now, True
        speed = human.rate(progress.records, now - self._begun)
        done = "█" * round(progress.share * 20)
        told = f"{progress.share:4.0%}  {progress.records:,} records  {speed}  {progress.found:,} found"
        sys.stderr.write(f"\r\x1b[K{done:░<20} {told}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


class _Message:
    """A record with the methods that the formats of `consume` ask."""

    __slots__ = ("_record",)

    def __init__(self, record: Record) -> None:
        self._record = record

    def topic(self) -> str:
        return self._record.topic

    def partition(self) -> int:
        return self._record.partition

    def offset(self) -> int:
        return self._record.offset

    def key(self) -> bytes | None:
        return self._record.key

    def value(self) -> bytes | None:
        return self._record.value

    def headers(self) -> RawHeaders | None:
        return list(self._record.headers)

    def timestamp(self) -> tuple[int, int]:
        return (2 if self._record.timestamp_type == "append" else 1), self._record.timestamp

    def error(self) -> KafkaError | None:
        return None
