"""Reading records for people, and sending them again: what the console and `barnabas grep` stand on.

    browser = Browser(connect)                          # connect() gives an AsyncNodes that logs in as the person
    page = await browser.page("views", NEWEST, 50)      # newest first over all partitions; page.older goes on
    record = await browser.one("views", 0, 1200)        # whole, however large
    async for event in browser.tail("views"):           # event.records, event.dropped, event.trouble
        ...
    async for update in browser.search("views", Query("text", "ada")):
        ...                                             # update.records, update.progress.found, .share, .done
    await browser.send("views", [NewRecord(b"key", b"value")])
    async for event in browser.redrive("dead", "orders", Query("text", "timeout")):
        ...                                             # event.sent, .records, .bytes, .share; target None: a preview
    browser.close()

Everything is async, can be cancelled, and is bounded in time and memory. What goes wrong is a BrowseError with one line
for a person, or link's LoginFailed. Records are bytes here; decoding.py makes of them what a person sees.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.browse.browser import Browser, Connect
    from barnabas.browse.errors import BrowseError, NoSuchRecord, NoSuchTopic, NotAllowed, NotInTime
    from barnabas.browse.opening import Opener
    from barnabas.browse.page import Page
    from barnabas.browse.places import BEGINNING, NEWEST, Place, at_time, from_offset
    from barnabas.browse.record import Record, Unreadable
    from barnabas.browse.redrive import FROM_HEADER, Manner, Redriven
    from barnabas.browse.search.query import Query
    from barnabas.browse.search.search import Progress, SearchUpdate
    from barnabas.browse.sending import NewRecord, Sent
    from barnabas.browse.spans import Bound, Span
    from barnabas.browse.tail import Tailed

# Imported when they are first used: the process that searches needs few of them, and starts in half the time.
_HOMES = {
    "browser": ("Browser", "Connect"),
    "errors": ("BrowseError", "NoSuchRecord", "NoSuchTopic", "NotAllowed", "NotInTime"),
    "opening": ("Opener",),
    "page": ("Page",),
    "places": ("BEGINNING", "NEWEST", "Place", "at_time", "from_offset"),
    "record": ("Record", "Unreadable"),
    "redrive": ("FROM_HEADER", "Manner", "Redriven"),
    "search.query": ("Query",),
    "search.search": ("Progress", "SearchUpdate"),
    "sending": ("NewRecord", "Sent"),
    "spans": ("Bound", "Span"),
    "tail": ("Tailed",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BEGINNING",
    "FROM_HEADER",
    "NEWEST",
    "Bound",
    "BrowseError",
    "Browser",
    "Connect",
    "Manner",
    "NewRecord",
    "NoSuchRecord",
    "NoSuchTopic",
    "NotAllowed",
    "NotInTime",
    "Opener",
    "Page",
    "Place",
    "Progress",
    "Query",
    "Record",
    "Redriven",
    "SearchUpdate",
    "Sent",
    "Span",
    "Tailed",
    "Unreadable",
    "at_time",
    "from_offset",
]


def __getattr__(name: str) -> object:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value
