"""Search of a whole topic: every record is looked at, however many there are; progress and results as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing

from barnabas.browse import BrowseError, Query, Record
from barnabas.browse.expression import BadExpression
from barnabas.browse.search.query import Kind, finder
from barnabas.browse.spans import Bound, Span
from barnabas.console.pages.messages import partitions_of, told
from barnabas.console.pages.records import as_page, unmasked
from barnabas.console.problems import Problem
from barnabas.console.web.calls import Call, Route
from barnabas.console.web.stream import Event, stream
from barnabas.console.web.turns import in_turns
from barnabas.link.errors import LinkDown, LoginFailed

_KEPT = 1_000
_PREVIEW_CHARS = 4_000
_KINDS: Mapping[str, Kind] = {"text": "text", "regex": "regex", "where": "expression", "key": "key"}


async def search(call: Call) -> object:
    """A stream of `found` events, the last of which is done. A browser that closes it ends the search."""
    unmasked(call.role, "a search")
    query, partitions = query_of(call), partitions_of(call)
    spans = await spans_of(call) if call.text("since") or call.text("until") else None
    return stream(_search(call, query, spans, partitions))


async def spans_of(call: Call) -> Mapping[int, Span]:
    """The offsets between the times of the address, which may be open."""
    begin, end = _time(call, "since"), _time(call, "until")
    return await told(call.connection.browser.spans(call.path("topic"), begin, end, partitions_of(call)))


def query_of(call: Call, kind: str = "", pattern: str = "", ignore_case: bool | None = None) -> Query:
    """From what was handed over, else from the address."""
    pattern = pattern or call.text("pattern")
    known = _KINDS.get(kind or call.text("kind", "text"))
    if known is None:
        raise Problem(f"a search is by {', '.join(_KINDS)}")
    if not pattern:
        raise Problem("there is nothing to search for")
    alike = call.flag("ignore_case") if ignore_case is None else ignore_case
    query = Query(known, pattern, ignore_case=alike, in_key=call.flag("in_key"))
    try:
        finder(query)
    except BadExpression as error:
        raise Problem(str(error)) from None
    return query


def _time(call: Call, name: str) -> Bound | None:
    """Milliseconds since 1970; None where nothing was said."""
    return Bound("time", call.number(name, 0)) if call.text(name) else None


def _shown(record: Record) -> dict[str, object]:
    return as_page(record, preview=_PREVIEW_CHARS)


async def _search(
    call: Call, query: Query, spans: Mapping[int, Span] | None, partitions: list[int] | None
) -> AsyncIterator[Event]:
    found = call.connection.browser.search(call.path("topic"), query, spans, partitions, keep=_KEPT)
    try:
        async with aclosing(found) as updates:
            async for update in updates:
                progress = update.progress
                yield Event(
                    "found",
                    {
                        "records": [each async for each in in_turns(update.records, _shown)],
                        "examined": progress.records,
                        "bytes": progress.bytes,
                        "share": progress.share,
                        "found": progress.found,
                        "lost": progress.lost,
                        "unreadable": progress.unreadable,
                        "done": progress.done,
                    },
                )
    except (BrowseError, BadExpression, LinkDown, LoginFailed) as error:
        yield Event("ended", {"error": str(error)})


ROUTES = [
    Route("GET", "/topics/{topic}/search", search, records=True),
]
