"""`barnabas consume`: a topic's records on stdout.

Without --follow it reads up to what the topic holds now and ends; with it, it goes on for ever. Records go to stdout,
and nothing else does: notes for people go to stderr, and only to a terminal.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human, moments
from barnabas.cli.common.failure import usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, Bootstrap, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.client.common.rdkafka import ConsumerHandle, RawMessage


def consume(
    topic: Topic,
    start: Annotated[
        str | None, typer.Option("--from", "-f", metavar="PLACE", help=f"Where to begin: {moments.HELP}.")
    ] = None,
    stop: Annotated[
        str | None, typer.Option("--to", "-t", metavar="PLACE", help="Where to stop (that record is left out).")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-F", help="Wait for new records, until Ctrl-C.")] = False,
    group: Annotated[
        str | None, typer.Option("--group", "-g", metavar="NAME", help="Read as a member of this group, and commit.")
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", metavar="N", help="Only this one; may be repeated.")
    ] = None,
    number: Annotated[int | None, typer.Option("-n", "--number", min=1, metavar="N", help="Stop after N.")] = None,
    form: Annotated[str, typer.Option("--format", "-o", metavar="FORM", help="text, json or raw.")] = "text",
    keys: Annotated[bool, typer.Option("--keys", "-k", help="Show keys.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Show headers.")] = False,
    timestamps: Annotated[bool, typer.Option("--timestamps", "-T", help="Show when each was written.")] = False,
    offsets: Annotated[bool, typer.Option("--offsets", "-O", help="Show partition:offset.")] = False,
    where: Annotated[
        str | None, typer.Option("--where", "-w", metavar="EXPRESSION", help="Only those with, say, .price > 10.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry", "-r", metavar="URL", help="Show Avro, Protobuf and JSON Schema as JSON, by its schemas."
        ),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Print the records of a topic.

    It begins with the oldest record (with --follow alone: with the next new one) and ends with the newest of now. With
    --group it goes on where the group stopped, and commits what was printed.

    \b
    Example:
      barnabas consume views
      barnabas consume views --follow --keys --timestamps
      barnabas consume views --from -5m --format json | jq .value
      barnabas consume views --from 2026-05-01T10:00 --to 2026-05-01T11:00 -n 100
      barnabas consume views --where '.view > 8990' --offsets
      barnabas consume views --group billing --follow
      barnabas consume payments --registry http://127.0.0.1:8081 --where '.cents > 100'
    """
    from barnabas.cli.consume.formats import FORMATS, Shown, renderer

    form = "json" if as_json else form
    if form not in FORMATS:
        raise usage(f"--format {form!r} is unknown", f"Choose from {', '.join(FORMATS)}.")
    render = renderer(form, Shown(keys, headers, timestamps, offsets))
    if group is not None:
        if where is not None:
            raise usage("--where does not go with --group", "A group commits what it reads, matching or not.")
        if stop is not None or partition:
            raise usage("--to and --partition do not go with --group", "The group decides what each member reads.")
        source = _as_member(bootstrap, topic, group, start, follow)
    else:
        source = _alone(bootstrap, topic, start, stop, follow, partition or [])
    handle, batches = source
    if registry is not None:
        from barnabas.cli.consume.schemas import decoded

        batches = decoded(batches, registry)
    written = 0
    out = sys.stdout.buffer
    try:
        for batch in batches if where is None else _those(batches, where):
            if number is not None and written + len(batch) >= number:
                batch = batch[: number - written]
            out.write(render(batch))
            out.flush()
            written += len(batch)
            if number is not None and written >= number:
                if group is not None:
                    _commit(handle, batch)
                break
    finally:
        handle.close()
    _finish(written, topic)


def _alone(
    bootstrap: str, topic: str, start: str | None, stop: str | None, follow: bool, only: list[int]
) -> tuple[ConsumerHandle, Iterator[list[RawMessage]]]:
    from barnabas.cli.common import link
    from barnabas.cli.consume import reading

    if follow and stop is not None:
        raise usage("--follow never stops, so it does not go with --to")
    first = _place(start, "--from") if start is not None else moments.END if follow else moments.BEGINNING
    last = None if follow else _place(stop, "--to") if stop is not None else moments.END
    settings = {**reading.SETTINGS, "group.id": reading.NO_GROUP, "enable.auto.commit": False}
    handle = link.consumer(bootstrap, settings)
    partitions = link.partitions_of(handle, topic)
    unknown = sorted(set(only) - set(partitions))
    if unknown:
        raise usage(f"{topic} has no partition {unknown[0]}", f"It has {human.plural(len(partitions), 'partition')}.")
    partitions = sorted(set(only)) or partitions
    starts = reading.offsets(bootstrap, topic, partitions, first)
    stops = reading.offsets(bootstrap, topic, partitions, last) if last is not None else {}
    spans = [reading.Span(part, starts[part], stops.get(part)) for part in partitions]
    return handle, reading.read_spans(handle, topic, spans)


def _as_member(
    bootstrap: str, topic: str, group: str, start: str | None, follow: bool
) -> tuple[ConsumerHandle, Iterator[list[RawMessage]]]:
    from barnabas.cli.common import link
    from barnabas.cli.consume import reading

    first = _place(start, "--from") if start is not None else moments.BEGINNING
    if first.kind not in ("beginning", "end"):
        raise usage(
            "with --group, --from says only where a new group begins: beginning or end",
            f"To move the group: barnabas group reset {group} --topic {topic} --to '{start}'",
        )
    settings = {
        **reading.SETTINGS,
        "group.id": group,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest" if first.kind == "beginning" else "latest",
    }
    handle = link.consumer(bootstrap, settings)
    link.partitions_of(handle, topic)
    return handle, reading.read_group(handle, topic, follow=follow)


def _those(batches: Iterator[list[RawMessage]], where: str) -> Iterator[list[RawMessage]]:
    from barnabas.browse.expression import BadExpression, Subject, compiled

    try:
        test = compiled(where)
    except BadExpression as problem:
        raise usage(f"--where: {problem}") from None
    for batch in batches:
        kept = []
        for each in batch:
            facts = (each.partition(), each.offset(), each.timestamp()[1])
            if test(Subject(*facts, each.key(), each.value(), each.headers() or ())):
                kept.append(each)
        if kept:
            yield kept


def _place(text: str, flag: str) -> moments.Position:
    import time

    try:
        return moments.parse(text, int(time.time() * 1000))
    except ValueError as error:
        raise usage(f"{flag}: {error}") from None


def _commit(handle: ConsumerHandle, batch: list[RawMessage]) -> None:
    """-n may end inside a batch that reading.read_group has not stored yet; only what was printed is committed."""
    from confluent_kafka import TopicPartition

    after = {message.partition(): message.offset() + 1 for message in batch}
    topic = batch[0].topic() or ""
    handle.store_offsets(offsets=[TopicPartition(topic, partition, offset) for partition, offset in after.items()])


def _finish(written: int, topic: str) -> None:
    from barnabas.cli.common.screen import note, paint

    if sys.stderr.isatty() and (written == 0 or not sys.stdout.isatty()):
        note(paint(f"{human.plural(written, 'record')} from {topic}", "dim", sys.stderr))
