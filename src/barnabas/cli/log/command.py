"""`barnabas log dump`: the contents of the files of a data folder, read straight from disk.

Reads segments, indexes, producer snapshots and checkpoints, ours or Apache Kafka's (the formats are the same), of a
node that runs or not: nothing is locked and nothing is written. Damage is shown with its place and gives exit code 1;
with --verify every checksum, record and index entry is looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.screen import paint, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from barnabas.cli.log.rows import Row

app = typer.Typer(help="Look into the files of a data folder.", no_args_is_help=True)


@app.callback()
def log() -> None:
    """Look into the files of a data folder."""


@app.command("dump")
def dump(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files of a partition, or its folder.")],
    records: Annotated[
        bool, typer.Option("--records", "-r", help="The records too, with their keys and values.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", "-v", help="Check every checksum, record and index entry.")
    ] = False,
    secrets: Annotated[
        bool, typer.Option("--show-secrets", help="Also what the metadata log keeps of passwords.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Show the contents of the files of a partition.

    Segments, indexes, producer snapshots and checkpoints, of a node that runs or not. Records of __consumer_offsets and
    __cluster_metadata are shown decoded.

    \b
    Example:
      barnabas log dump data/views-0/00000000000000000000.log --records
      barnabas log dump data/views-0 --verify
      barnabas log dump data/__consumer_offsets-3 --records --json | jq .
    """
    damage = 0
    for path in _expand(files):
        try:
            rows = _rows(path, records=records, verify=verify, secrets=secrets)
            damage += _as_json(path, rows) if as_json else _as_text(path, rows)
        except FileNotFoundError:
            if path in files:
                raise
            # found in its folder, and deleted since by the node that runs on it
    if damage:
        raise Failure(
            f"{human.plural(damage, 'problem')} found", "A node cuts a torn tail by itself at its next start."
        )


def _expand(files: list[Path]) -> Iterator[Path]:
    from barnabas.cli.log.rows import readable

    for path in files:
        if path.is_dir():
            inside = sorted(each for each in path.iterdir() if each.is_file() and readable(each))
            if not inside:
                raise Failure(f"{path} holds no files of a log", "Give the folder of one partition, as views-0.")
            yield from inside
        elif not path.exists():
            raise Failure(f"there is no file {path}")
        elif not readable(path):
            raise Failure(
                f"{path} is no file of a log", "Known: .log .index .timeindex .snapshot .checkpoint, checkpoints."
            )
        else:
            yield path


def _rows(path: Path, *, records: bool, verify: bool, secrets: bool) -> Iterator[Row]:
    from barnabas.cli.log import indexes as dump_indexes
    from barnabas.cli.log import segment
    from barnabas.cli.log.rows import SEGMENT_SUFFIXES

    if path.suffix in SEGMENT_SUFFIXES:
        return segment.rows(path, records=records, verify=verify, secrets=secrets)
    return dump_indexes.rows(path, verify=verify)


def _as_json(path: Path, rows: Iterator[Row]) -> int:
    import msgspec

    damage = 0
    for row in rows:
        damage += row.kind == "damage"
        say(msgspec.json.encode({"file": str(path), "kind": row.kind, **row.fields}).decode())
    return damage


def _as_text(path: Path, rows: Iterator[Row]) -> int:
    say(f"{paint(str(path), 'bold')}  {paint(human.size(path.stat().st_size), 'dim')}")
    damage = count = 0
    for row in rows:
        count += 1
        if row.kind == "damage":
            damage += 1
            say(paint(f"  damage  {row.text()}", "red"))
        elif row.kind == "record":
            say(f"      {row.text()}")
        else:
            say(f"  {row.text()}")
    if not count:
        say(paint("  empty", "dim"))
    return damage
