"""Events of the audit trail as they stand in `__audit`: which are wanted, and how a person reads one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

import msgspec

from barnabas.cli.common.screen import paint, quoted


class Event(TypedDict, total=False):
    """Fields that say nothing are missing (docs/security.md has the list)."""

    time: str
    since: str
    node: int
    sequence: int
    event: str
    allowed: bool
    principal: str
    host: str
    listener: str
    software: str
    client_id: str
    operation: str
    api: str
    resource: str
    reason: str
    error: str
    detail: str
    count: int


_decode = msgspec.json.Decoder(Event).decode


@dataclass(frozen=True, slots=True)
class Wanted:
    user: str | None = None
    operation: str | None = None
    resource: str | None = None
    denied: bool = False
    since: str | None = None  # as events have it: UTC, ISO 8601

    @property
    def everything(self) -> bool:
        return self == Wanted(since=self.since)

    def has(self, event: Event) -> bool:
        return (
            (self.user is None or _is_user(event.get("principal", ""), self.user))
            and (self.operation is None or self.operation.lower() in _operations(event))
            and (self.resource is None or _is_resource(event.get("resource", ""), self.resource))
            and (not self.denied or not event.get("allowed", False))
            and (self.since is None or event.get("time", "") >= self.since)
        )


def _is_user(principal: str, wanted: str) -> bool:
    return principal == wanted or principal == f"User:{wanted}"


def _operations(event: Event) -> tuple[str, ...]:
    """--operation names Kafka's operation, the API or the kind of event."""
    return tuple(event.get(name, "").lower() for name in ("operation", "api", "event"))  # type: ignore[attr-defined]


def _is_resource(resource: str, wanted: str) -> bool:
    """By its whole name, or by a prefix with a star."""
    if wanted.endswith("*"):
        return resource.startswith(wanted[:-1])
    return resource == wanted


def read(values: Iterable[bytes | None], newest: dict[int, int]) -> Iterator[Event]:
    """What is no event is passed over, and so is what a node has sent twice: `newest` has each node's last number."""
    for value in values:
        try:
            event = _decode(value or b"")
        except msgspec.DecodeError:
            continue
        node, sequence = event.get("node", -1), event.get("sequence", 0)
        if sequence > newest.get(node, -1):
            newest[node] = sequence
            yield event


def line(event: Event) -> str:
    """One event, in columns that stay where they are."""
    result, style = _result(event)
    what = event.get("operation") or event.get("event", "")
    cells = (
        _local(event.get("time", "")),
        paint(f"{result:7}", style),
        f"{quoted(event.get('principal') or '-'):20}",
        f"{what:16}",
        f"{quoted(event.get('resource') or '-'):28}",
        f"{quoted(event.get('host') or '-'):15}",
        quoted(_rest(event)),
    )
    return "  ".join(cells).rstrip()


def _result(event: Event) -> tuple[str, str]:
    if not event.get("allowed", False):
        return "denied", "red"
    return ("failed", "yellow") if event.get("error") else ("ok", "green")


def _rest(event: Event) -> str:
    times = f"x{event['count']:,}" if event.get("count", 1) > 1 else ""
    by = " ".join(filter(None, (event.get("api"), event.get("software") and f"by {event['software']}")))
    return ", ".join(filter(None, (times, event.get("error"), event.get("reason"), event.get("detail"), by)))


def _local(time: str) -> str:
    try:
        return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return quoted(time)
