"""`barnabas produce`: lines or JSON objects become records.

Reads stdin, or a file, until it ends; then waits until every record is acknowledged, and says on stderr how many, how
fast. Exit code 1 when a record did not arrive. Ctrl-C sends what was read and ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, Bootstrap, Topic, pairs

if TYPE_CHECKING:
    from barnabas.cli.common.progress import Progress
    from barnabas.cli.produce.schemas import Encoding
    from barnabas.cli.produce.sending import Failures, Sender
    from barnabas.client.common.rdkafka import Handle

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKS = ("0", "1", "all", "-1")


def produce(
    topic: Topic,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Read this file, not stdin.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", "-j", help="Each line is an object: key, value, headers, partition, timestamp.")
    ] = False,
    key_separator: Annotated[
        str | None, typer.Option("--key-separator", "-K", metavar="TEXT", help="What stands between key and value.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", "--headers", "-H", metavar="NAME=VALUE", help="On every record; may be repeated."),
    ] = None,
    partition: Annotated[
        int | None, typer.Option("--partition", "-p", min=0, metavar="N", help="Send it all here.")
    ] = None,
    partitioner: Annotated[
        str,
        typer.Option("--partitioner", metavar="NAME", help="murmur2 (as Kafka), crc32, fnv1a, random, round-robin."),
    ] = "murmur2",
    compression: Annotated[
        str, typer.Option("--compression", "-z", metavar="CODEC", help="none, gzip, snappy, lz4 or zstd.")
    ] = "none",
    acks: Annotated[str, typer.Option("--acks", "-a", metavar="N", help="Who must have it: 0, 1 or all.")] = "all",
    registry: Annotated[
        str | None, typer.Option("--registry", "-r", metavar="URL", help="Write JSON with schemas of this registry.")
    ] = None,
    value_schema: Annotated[
        Path | None, typer.Option("--value-schema", metavar="FILE", help="The values' schema: .avsc, .json, .proto.")
    ] = None,
    value_subject: Annotated[
        str | None, typer.Option("--value-subject", metavar="NAME", help="Its subject, where it is not TOPIC-value.")
    ] = None,
    key_schema: Annotated[Path | None, typer.Option("--key-schema", metavar="FILE", help="The keys' schema.")] = None,
    key_subject: Annotated[
        str | None, typer.Option("--key-subject", metavar="NAME", help="Its subject, such as TOPIC-key.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no summary.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Send lines, or JSON objects, to a topic.

    A line is a record. With --key-separator what stands before it is the key; with --json each line is an object, in
    the form that `barnabas consume --json` prints. With --registry the values are JSON, written with the schema of
    --value-schema, or with the newest one of the subject; keys with one only where it is named.

    \b
    Example:
      echo hello | barnabas produce greetings
      barnabas produce views views.jsonl --compression zstd
      echo 'ada:searched' | barnabas produce activity --key-separator :
      echo '{"key": "ada", "value": {"act": "view"}, "headers": {"v": "1"}}' | barnabas produce activity --json
      barnabas consume views --json | jq -c 'del(.partition)' | barnabas produce copy --json
      echo '{"cents": 1999}' | barnabas produce payments --registry http://127.0.0.1:8081 --value-schema payment.avsc
    """
    from barnabas.cli.common import link
    from barnabas.cli.produce import sending
    from barnabas.cli.produce.schemas import SchemaOptions, encoding

    _check(compression, acks, partitioner, as_json, key_separator)
    failures = sending.Failures()
    settings = {
        **sending.SETTINGS,
        "on_delivery": failures,
        "acks": acks,
        "enable.idempotence": acks in ("all", "-1"),
        "compression.type": compression,
        "partitioner": sending.PARTITIONERS[partitioner],
    }
    headers: list[tuple[str, bytes | None]] = [
        (name, value.encode()) for name, value in pairs(header, "--header", "source=web").items()
    ]
    schemas = SchemaOptions(registry, value_schema, value_subject, key_schema, key_subject)
    with _opened(file) as descriptor, encoding(topic, schemas) as written:
        handle = link.producer(bootstrap, settings)
        turns = _partitions(handle, topic) if partitioner == "round-robin" else 0
        sender = sending.Sender(handle, topic, round_robin=turns, partition=partition)
        total = os.fstat(descriptor).st_size if file is not None else None
        show = not quiet and sys.stderr.isatty() and not os.isatty(descriptor)
        try:
            _pump(descriptor, sender, headers, as_json, key_separator, written, _bar(total) if show else None)
        finally:
            sender.finish()
    _summary(sender, failures, topic, quiet, bootstrap)


def _pump(
    descriptor: int,
    sender: Sender,
    headers: list[tuple[str, bytes | None]],
    as_json: bool,
    key_separator: str | None,
    encoding: Encoding | None,
    bar: Progress | None,
) -> None:
    from barnabas.cli.produce.lines import Input, parse_json, read_lines, split_key

    separator = (key_separator or "").encode()
    plain = sender.plain and not (as_json or separator or headers or encoding)
    number = 0
    try:
        for lines in read_lines(descriptor):
            if plain:
                sender.send_values(lines)
            elif encoding is not None:
                numbered = [(line, number + i) for i, line in enumerate(lines, 1) if line.strip()]
                sender.send((encoding.input(line, at, as_json, separator) for line, at in numbered), headers)
            elif as_json:
                sender.send((parse_json(line, number + i) for i, line in enumerate(lines, 1) if line.strip()), headers)
            elif separator:
                sender.send((split_key(line, separator, number + i) for i, line in enumerate(lines, 1)), headers)
            else:
                sender.send((Input(line) for line in lines), headers)
            number += len(lines)
            if bar is not None:
                bar.update(sender.records, sum(map(len, lines)) + len(lines))
    finally:
        if bar is not None:
            bar.close()


def _check(compression: str, acks: str, partitioner: str, as_json: bool, key_separator: str | None) -> None:
    from barnabas.cli.produce.sending import PARTITIONERS

    for flag, value, choices in (
        ("--compression", compression, _CODECS),
        ("--acks", acks, _ACKS),
        ("--partitioner", partitioner, tuple(PARTITIONERS)),
    ):
        if value not in choices:
            raise usage(f"{flag} {value!r} is unknown", f"Choose from {', '.join(choices)}.")
    if as_json and key_separator is not None:
        raise usage("--json carries the key itself, so it does not go with --key-separator")
    if key_separator == "":
        raise usage("--key-separator is empty")


@contextmanager
def _opened(file: Path | None) -> Iterator[int]:
    if file is None or str(file) == "-":
        yield sys.stdin.fileno()
        return
    try:
        descriptor = os.open(file, os.O_RDONLY)
        if file.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(file))
    except OSError as error:
        raise Failure(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _partitions(handle: Handle, topic: str) -> int:
    from barnabas.cli.common.link import partitions_of

    return len(partitions_of(handle, topic))


def _bar(total: int | None) -> Progress:
    from barnabas.cli.common.progress import Progress

    return Progress(total)


def _summary(sender: Sender, failures: Failures, topic: str, quiet: bool, bootstrap: str) -> None:
    from barnabas.cli.common.screen import note, paint

    if failures.count:
        lost = f"{human.plural(failures.count, 'record')} of {sender.records:,}"
        known = sender.full_disk or sender.no_leader
        if "Policy violation" in failures.first:
            from barnabas.cli.common.linked import filled_by

            if told := filled_by(bootstrap, topic):
                raise Failure(f"{lost} did not arrive: {told}")
        raise Failure(f"{lost} did not arrive: {failures.first}", _way_out(failures.first, topic, known))
    if quiet:
        return
    seconds = sender.seconds
    speed = f"{human.rate(sender.records, seconds)}, {human.size(sender.bytes / max(seconds, 1e-6))}/s"
    told = f" in {human.duration(seconds)} ({speed})" if sender.records > 1 else ""
    note(paint(f"{human.plural(sender.records, 'record')} to {topic}{told}", "dim", sys.stderr))


def _way_out(said: str, topic: str, cause: str = "") -> str:
    """librdkafka names what is wrong; here is what to do about it. `cause`: what was found out while records waited."""
    if "Unknown partition" in said:
        return (
            f"A record names a partition that {topic} does not have. Give it more: barnabas topic grow {topic} N, or "
            "leave `partition` out of the records."
        )
    if cause:
        return f"The cause: {cause}."
    if "Invalid topic" in said:
        return "A topic's name has letters, digits, '.', '_' and '-', at most 249 of them."
    if "failed to validate record" in said:
        return (
            f"A topic that is compacted takes records with a key only (--key-separator), one that checks schema ids "
            f"only those of its registry (--registry); what {topic} is: barnabas topic describe {topic}"
        )
    if "Message size too large" in said:
        return (
            f"Its limit: barnabas config get topic {topic} max.message.bytes. "
            f"To raise it: barnabas config set topic {topic} max.message.bytes=N"
        )
    return ""
