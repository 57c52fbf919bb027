"""Messages of a topic: a page of them from any place, one whole, a live tail, a download."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from starlette.responses import Response

from barnabas.browse import BrowseError, Browser, NoSuchRecord, NoSuchTopic, Page, Place, Record
from barnabas.browse import NotAllowed as Forbidden
from barnabas.browse.places import parse
from barnabas.console.pages.records import Keep, Veil, as_page, keep_of, unmasked
from barnabas.console.problems import NotAllowed, NotFound, Problem
from barnabas.console.web.calls import Call, Route
from barnabas.console.web.stream import Event, stream
from barnabas.console.web.turns import in_turns

_COUNT_MAX = 500
_PREVIEW_CHARS = 4_000  # of each value in a list: enough for its fields
_EXAMINED_MAX = 20_000  # records that a filter of a page looks at; then the person is asked whether to go on
_READ_AT_ONCE = 1_000

Result = TypeVar("Result")


async def messages(call: Call) -> object:
    topic, place = call.path("topic"), _place(call)
    count = call.number("count", 50, 1, _COUNT_MAX)
    veil, keep = Veil(call.role), keep_of(call.text("kind", "text"), call.text("filter"))
    browser, committed = call.connection.browser, call.flag("committed")

    def judged(record: Record) -> tuple[Record, bool]:
        veiled = veil.over(record)
        return veiled, keep is None or keep(veiled)

    kept: list[Record] = []
    looked_at = 0
    while True:
        wanted = count - len(kept) if keep is None else _READ_AT_ONCE
        page = await told(browser.page(topic, place, wanted, partitions_of(call), read_committed=committed))
        async for veiled, wanted_too in in_turns(await call.connection.schemas.to_json(page.records), judged):
            if wanted_too:
                kept.append(veiled)
        looked_at += len(page.records)
        onward = page.older if place.backwards else page.newer
        at_end = onward is None or (not place.backwards and not page.records)
        if keep is None or at_end or len(kept) >= count or looked_at >= _EXAMINED_MAX:
            return await _answer(page, place, kept, looked_at, at_end)
        place = onward or place


async def _answer(page: Page, place: Place, kept: list[Record], looked_at: int, at_end: bool) -> dict[str, object]:
    return {
        "records": [shown async for shown in in_turns(kept, lambda each: as_page(each, preview=_PREVIEW_CHARS))],
        "backwards": place.backwards,
        "older": page.older.text() if page.older is not None else None,
        "newer": page.newer.text(),
        "looked_at": looked_at,
        "at_end": at_end,
        "starts": page.starts,
        "ends": page.ends,
        "unreadable": [each._asdict() for each in page.unreadable],
    }


async def one_message(call: Call) -> object:
    (record,) = await call.connection.schemas.to_json([await _one(call)])
    return as_page(Veil(call.role).over(record))


async def download(call: Call) -> object:
    """The bytes of a value or a key, unchanged."""
    unmasked(call.role, "a download")
    record, part = await _one(call), call.text("part", "value")
    data = record.key if part == "key" else record.value
    if data is None:
        raise NotFound(f"this record has no {part}")
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", f"{record.place}.{part}")
    headers = {"Content-Disposition": f'attachment; filename="{safe}"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


async def _one(call: Call) -> Record:
    try:
        partition, offset = int(call.path("partition")), int(call.path("offset"))
    except ValueError:
        raise NotFound("a record is named by its partition and offset") from None
    if not (0 <= partition < 2**31 and 0 <= offset < 2**63):
        raise NotFound("there is no such partition or offset")
    return await told(call.connection.browser.one(call.path("topic"), partition, offset))


async def tail(call: Call) -> object:
    """A stream of what comes from now on; a browser that comes again goes on where it was (Last-Event-ID)."""
    veil, keep = Veil(call.role), keep_of(call.text("kind", "text"), call.text("filter"))
    last = call.request.headers.get("last-event-id") or call.text("from")
    place, partitions = _parsed(last) if last else None, partitions_of(call)
    return stream(_tail(call.connection.browser, call, place, partitions, veil, keep))


async def _tail(
    browser: Browser, call: Call, place: Place | None, partitions: list[int] | None, veil: Veil, keep: Keep | None
) -> AsyncIterator[Event]:
    schemas = call.connection.schemas
    judge: Keep | None = (lambda each: keep(veil.over(each))) if keep is not None else None
    early = judge if schemas.url is None else None  # with a registry a filter looks at what was decoded

    def shown(record: Record) -> dict[str, object] | None:
        if early is None and judge is not None and not judge(record):
            return None
        return as_page(veil.over(record), preview=_PREVIEW_CHARS)

    offsets = place.offsets if place is not None else None
    try:
        async for event in browser.tail(
            call.path("topic"), partitions, offsets, keep=early, read_committed=call.flag("committed")
        ):
            body = {
                "records": [each async for each in in_turns(await schemas.to_json(event.records), shown) if each],
                "dropped": event.dropped,
                "trouble": event.trouble,
            }
            yield Event("records", body, Place("newer", offsets=event.offsets).text())
    except BrowseError as error:
        yield Event("ended", {"error": str(error)})


def _place(call: Call) -> Place:
    return _parsed(call.text("place", "newest"))


def _parsed(text: str) -> Place:
    try:
        return parse(text)
    except ValueError as error:
        raise Problem(str(error)) from None


def partitions_of(call: Call) -> list[int] | None:
    told_ones = call.text("partitions")
    if not told_ones:
        return None
    try:
        return sorted({int(each) for each in told_ones.split(",")})
    except ValueError:
        raise Problem(f"partitions are numbers with commas, not {told_ones[:60]!r}") from None


async def told(work: Awaitable[Result]) -> Result:
    """What browse raises, as a Problem."""
    try:
        return await work
    except (NoSuchTopic, NoSuchRecord) as error:
        raise NotFound(str(error)) from None
    except Forbidden as error:
        raise NotAllowed(str(error)) from None
    except BrowseError as error:
        raise Problem(str(error), status=503) from None


ROUTES = [
    Route("GET", "/topics/{topic}/messages", messages, records=True),
    Route("GET", "/topics/{topic}/messages/{partition}/{offset}", one_message, records=True),
    Route("GET", "/topics/{topic}/messages/{partition}/{offset}/download", download, records=True),
    Route("GET", "/topics/{topic}/tail", tail, records=True),
]
