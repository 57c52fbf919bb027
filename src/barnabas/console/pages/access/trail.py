"""The audit trail of the cluster (topic `__audit`), newest first; and what was changed through this console."""

from __future__ import annotations

import msgspec

from barnabas.browse import NEWEST, BrowseError, NoSuchTopic, Place
from barnabas.browse import NotAllowed as Forbidden
from barnabas.browse.places import parse
from barnabas.console.pages.access.rules import code_of_rules
from barnabas.console.pages.records import Veil
from barnabas.console.problems import NotAllowed, NotFound, Problem
from barnabas.console.web.calls import Call, Route
from barnabas.operate.access.audit_events import TOPIC, Event, Wanted, read

_SHOWN = 200
_EXAMINED_MAX = 20_000  # events that a filter looks at; then the person is asked whether to go on
_READ_AT_ONCE = 1_000


async def audit(call: Call) -> object:
    call.must_see_records(TOPIC)
    wanted = Wanted(
        call.text("user") or None, call.text("operation") or None, call.text("resource") or None, call.flag("denied")
    )
    place: Place | None = _place(call)
    veil = Veil(call.role)
    kept: list[Event] = []
    looked_at = 0
    while place is not None and len(kept) < _SHOWN and looked_at < _EXAMINED_MAX:
        try:
            page = await call.connection.browser.page(TOPIC, place, _SHOWN if wanted.everything else _READ_AT_ONCE)
        except NoSuchTopic:
            raise NotFound(
                "this cluster has no audit trail", "Start its nodes with --secure or --set audit.enable=true."
            ) from None
        except Forbidden:
            raise NotAllowed(
                "you may not read the audit trail", f"An admin allows it by a rule: read on topic:{TOPIC}."
            ) from None
        except BrowseError as error:
            raise Problem(str(error), status=503) from None
        looked_at += len(page.records)
        for record in page.records:  # backwards: what a node sent twice is beside itself, so each is read alone
            kept += [
                event
                for event in read([veil.over(record).value], {})
                if wanted.has(event) and not _repeats(kept, event)
            ]
        place = page.older
    return {"events": kept, "older": None if place is None else place.text(), "looked_at": looked_at}


def _repeats(kept: list[Event], event: Event) -> bool:
    """A node that had no answer sends an event again."""
    same = event.get("node"), event.get("sequence")
    return any((each.get("node"), each.get("sequence")) == same for each in kept[-50:])


def _place(call: Call) -> Place:
    told = call.text("place")
    if not told:
        return NEWEST
    try:
        return parse(told)
    except ValueError:
        raise Problem("there is no such place in the audit trail") from None


async def changes(call: Call) -> object:
    """Of this cluster, newest first. Those of others only to people who may see who may do what."""
    here = call.connection.options
    everybody = not here.needs_login or not await code_of_rules(call.nodes)
    return [
        msgspec.structs.asdict(each)
        for each in reversed(call.changes.last)
        if each.cluster == here.name and (everybody or each.user == call.user)
    ]


ROUTES = [
    Route("GET", "/access/audit", audit),
    Route("GET", "/access/changes", changes),
]
