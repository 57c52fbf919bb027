"""`barnabas audit`: who did what, and who was refused, from the topic `__audit`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import moments
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, Bootstrap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from barnabas.cli.consume.reading import Span
    from barnabas.client.common.rdkafka import ConsumerHandle
    from barnabas.operate.access.audit_events import Event, Wanted

TOPIC = "__audit"
_TOPIC_REFUSED = 29  # Kafka's TOPIC_AUTHORIZATION_FAILED


def audit(
    number: Annotated[int, typer.Option("-n", "--number", min=1, metavar="N", help="The last N events.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-F", help="Go on with new ones, until Ctrl-C.")] = False,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="USER", help="Only of this user.")] = None,
    operation: Annotated[
        str | None,
        typer.Option("--operation", metavar="WORD", help="Only read, write, alter ...; or an API; or login, data ..."),
    ] = None,
    resource: Annotated[
        str | None, typer.Option("--resource", "-r", metavar="RESOURCE", help="Only topic:NAME, group:NAME* ...")
    ] = None,
    denied: Annotated[bool, typer.Option("--denied", help="Only what was refused.")] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Only since then: 10:30, -5m, 2026-05-01T10:00.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A line of JSON each, with every field.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show the audit trail: logins, refusals, administration, data.

    With a filter and without --since all that is kept is searched for the last N.

    \b
    Example:
      barnabas audit
      barnabas audit --denied --since -1h
      barnabas audit --user alice --operation write --follow
      barnabas audit --resource 'topic:orders*' -n 100 --json
    """
    from barnabas.cli.consume.reading import Span
    from barnabas.operate.access.audit_events import Wanted

    position = _position(since)
    _check(operation)
    wanted = Wanted(user, operation, resource, denied, None if position is None else _iso(position.value))
    handle = _opened(bootstrap)
    try:
        newest: dict[int, int] = {}
        spans = _spans(handle, bootstrap, wanted, position, number)
        events = _events(handle, spans, wanted, newest)
        last = deque(events, maxlen=number)
        _show(sorted(last, key=lambda event: event.get("time", "")), as_json)
        if follow:
            ahead = [Span(span.partition, span.stop or 0, None) for span in spans]
            for event in _events(handle, ahead, wanted, newest):
                _show([event], as_json)
    finally:
        handle.close()


def _check(operation: str | None) -> None:
    from barnabas.operate.access.audit_events import check_operation
    from barnabas.operate.unusable import Unusable

    try:
        if operation is not None:
            check_operation(operation)
    except Unusable as problem:
        raise usage(f"--operation: {problem.message}", problem.way_out) from None


def _opened(bootstrap: str) -> ConsumerHandle:
    from barnabas.cli.common import link
    from barnabas.cli.consume import reading

    settings = {**reading.SETTINGS, "group.id": reading.NO_GROUP, "enable.auto.commit": False}
    settings["allow.auto.create.topics"] = False
    handle = link.consumer(bootstrap, settings)
    found = handle.list_topics(TOPIC, timeout=10).topics.get(TOPIC)
    if found is None or found.error is not None or not found.partitions:
        handle.close()
        if found is not None and found.error is not None and found.error.code() == _TOPIC_REFUSED:
            raise Failure(
                "you may not read the audit trail", f"An admin allows it: barnabas acl add USER read topic:{TOPIC}"
            )
        raise Failure("this cluster has no audit trail", "Start its nodes with --secure or --set audit.enable=true.")
    return handle


def _spans(
    handle: ConsumerHandle, bootstrap: str, wanted: Wanted, since: moments.Position | None, number: int
) -> list[Span]:
    """From where on it has to be read for the last events that are wanted, up to what is there now."""
    from barnabas.cli.common import link
    from barnabas.cli.consume import reading
    from barnabas.cli.consume.reading import Span

    partitions = link.partitions_of(handle, TOPIC)
    first = since or (moments.Position("tail", number) if wanted.everything else moments.BEGINNING)
    starts = reading.offsets(bootstrap, TOPIC, partitions, first)
    stops = reading.offsets(bootstrap, TOPIC, partitions, moments.END)
    return [Span(partition, starts[partition], stops[partition]) for partition in partitions]


def _events(handle: ConsumerHandle, spans: list[Span], wanted: Wanted, newest: dict[int, int]) -> Iterator[Event]:
    from barnabas.cli.consume.reading import read_spans
    from barnabas.operate.access.audit_events import read

    for batch in read_spans(handle, TOPIC, spans):
        yield from filter(wanted.has, read((message.value() for message in batch), newest))


def _show(events: Iterable[Event], as_json: bool) -> None:
    import sys

    import msgspec

    from barnabas.cli.audit.events import line
    from barnabas.cli.common.screen import say

    for event in events:
        say(msgspec.json.encode(event).decode() if as_json else line(event))
    sys.stdout.flush()


def _position(since: str | None) -> moments.Position | None:
    import time

    if since is None:
        return None
    try:
        found = moments.parse(since, int(time.time() * 1000))
    except ValueError as error:
        raise usage(f"--since: {error}") from None
    if found.kind != "time":
        raise usage(f"--since {since!r} is not a time", "Write it as -5m, 10:30 or 2026-05-01T10:00.")
    return found


def _iso(time_ms: int) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
