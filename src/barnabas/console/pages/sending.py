"""Producing a record by hand, and sending records again: named ones, or all that a search finds, with a preview."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import msgspec

from barnabas.browse import Manner, NewRecord, Query
from barnabas.browse.spans import Span
from barnabas.console.pages.messages import told
from barnabas.console.pages.records import Given, unmasked
from barnabas.console.pages.search import query_of, spans_of
from barnabas.console.problems import Problem
from barnabas.console.web.bodies import Int32, Int64
from barnabas.console.web.calls import Call, Route

_NAMED_MAX = 1_000


class _Header(msgspec.Struct):
    name: str
    value: Given


class _New(msgspec.Struct):
    key: Given
    value: Given
    headers: list[_Header] = []
    partition: Int32 | None = None
    timestamp: Int64 | None = None


class _Place(msgspec.Struct):
    topic: str
    partition: Int32
    offset: Int64


class _Named(msgspec.Struct):
    to: str
    records: list[_Place]
    mark: bool = True


class _Found(msgspec.Struct):
    """What a preview has counted: the same query within the same offsets."""

    to: str
    kind: str
    pattern: str
    spans: dict[str, tuple[Int64, Int64]]
    ignore_case: bool = False
    mark: bool = True


async def produce(call: Call) -> object:
    new = await call.body(_New)
    headers = tuple((each.name, each.value.bytes()) for each in new.headers)
    record = NewRecord(new.key.bytes(), new.value.bytes(), headers, new.partition, new.timestamp)
    (sent,) = await told(call.connection.browser.send(call.path("topic"), [record]))
    return {"partition": sent.partition, "offset": sent.offset}


async def redrive_named(call: Call) -> object:
    """A few records that a person has chosen; answered when they are sent."""
    asked = await call.body(_Named)
    unmasked(call.role, "sending again")
    topics = {each.topic for each in asked.records}
    if len(topics) != 1 or not 0 < len(asked.records) <= _NAMED_MAX:
        raise Problem(f"name up to {_NAMED_MAX} records of one topic")
    (topic,) = topics
    call.must_see_records(topic)
    call.names += [topic, f"{len(asked.records)} records", "to", asked.to]
    places = [(each.partition, each.offset) for each in asked.records]
    sent = 0
    manner = Manner(mark=asked.mark)
    async with aclosing(call.connection.browser.redrive(topic, asked.to, places, manner=manner)) as updates:
        while (update := await told(anext(updates, None))) is not None:
            sent = update.sent
    return {"sent": sent, "to": asked.to}


async def preview(call: Call) -> object:
    """How many records a query finds now, how large they are, and within which offsets: for `redrive_found`."""
    unmasked(call.role, "sending again")
    topic, browser, query = call.path("topic"), call.connection.browser, query_of(call)
    spans = await spans_of(call)
    counted = None
    async with aclosing(browser.redrive(topic, None, query, spans)) as updates:
        while (update := await told(anext(updates, None))) is not None:
            counted = update
    return {
        "records": counted.records if counted else 0,
        "bytes": counted.bytes if counted else 0,
        "partitions": counted.partitions if counted else {},
        "spans": {str(each): (span.start, span.end) for each, span in spans.items()},
    }


async def redrive_found(call: Call) -> object:
    """All that a query finds within the offsets of its preview, as a job."""
    asked = await call.body(_Found)
    unmasked(call.role, "sending again")
    call.names += ["to", asked.to]
    query = query_of(call, asked.kind, asked.pattern, asked.ignore_case)
    try:
        spans = {int(each): Span(*span) for each, span in asked.spans.items()}
    except ValueError:
        raise Problem("partitions are numbers") from None
    topic = call.path("topic")
    job = call.connection.jobs.start(f"{topic} to {asked.to}", _again(call, topic, asked, query, spans))
    return job.shown()


async def _again(
    call: Call, topic: str, asked: _Found, query: Query, spans: Mapping[int, Span]
) -> AsyncGenerator[tuple[int, float], None]:
    manner = Manner(mark=asked.mark)
    async with aclosing(call.connection.browser.redrive(topic, asked.to, query, spans, manner=manner)) as updates:
        async for update in updates:
            yield update.sent, update.share


async def job(call: Call) -> object:
    return call.connection.jobs.find(call.path("job")).shown()


async def end_job(call: Call) -> object:
    found = call.connection.jobs.find(call.path("job"))
    call.names.append(found.what)
    call.connection.jobs.end(found)
    return {}


ROUTES = [
    Route("POST", "/topics/{topic}/messages", produce, change="produce a record"),
    Route("POST", "/redrive", redrive_named, records=True, change="send records again"),
    Route("GET", "/topics/{topic}/redrive", preview, records=True),
    Route("POST", "/topics/{topic}/redrive", redrive_found, records=True, change="send records again"),
    Route("GET", "/jobs/{job}", job),
    Route("DELETE", "/jobs/{job}", end_job, change="end a job"),
]
