"""Events of the audit trail as they stand in the topic `__audit`, and which of them are wanted."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypedDict

import msgspec

from barnabas.model.access import AclOperation
from barnabas.operate.unusable import Unusable
from barnabas.wire.apis import SERVED

TOPIC = "__audit"


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


KINDS = ("access", "login", "connection", "administration", "data", "audit")
_OF_FILTERS = (AclOperation.UNKNOWN, AclOperation.ANY, AclOperation.ALL)
OPERATIONS = tuple(each.name.lower().replace("_", "-") for each in AclOperation if each not in _OF_FILTERS)
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
            and (self.operation is None or _plain(self.operation) in _operations(event))
            and (self.resource is None or _is_resource(event.get("resource", ""), self.resource))
            and (not self.denied or not event.get("allowed", False))
            and (self.since is None or event.get("time", "") >= self.since)
        )


def _is_user(principal: str, wanted: str) -> bool:
    return principal == wanted or principal == f"User:{wanted}"


def _operations(event: Event) -> tuple[str, ...]:
    """--operation names Kafka's operation, the API or the kind of event."""
    return tuple(_plain(event.get(name, "")) for name in ("operation", "api", "event"))  # type: ignore[arg-type]


def _plain(word: str) -> str:
    """ALTER_CONFIGS in an event is alter-configs in a rule; CreateTopics is create_topics to some."""
    return word.lower().replace("-", "").replace("_", "")


def check_operation(word: str) -> None:
    """Unusable where no event has this word: a filter with a typing error would show an empty trail."""
    apis = {_plain(api.name): "".join(part.capitalize() for part in api.name.split("_")) for api in SERVED.values()}
    known = {**apis, **{_plain(each): each for each in (*KINDS, *OPERATIONS)}}
    if _plain(word) in known:
        return
    near = difflib.get_close_matches(_plain(word), known, n=1)
    meant = f"Did you mean {known[near[0]]}? " if near else ""
    there = f"There are {', '.join(OPERATIONS)}; the events {', '.join(KINDS)}; and APIs, such as CreateTopics."
    raise Unusable(f"no event has the operation {word!r}", f"{meant}{there}")


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
        if not isinstance(node, int) or not isinstance(sequence, int):
            continue  # whoever may write to the topic may have written anything
        if sequence > newest.get(node, -1):
            newest[node] = sequence
            yield event
