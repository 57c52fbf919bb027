"""Options that many commands share, written once, so that they look and mean the same everywhere."""

import os
import shlex
from typing import Annotated

import typer

from barnabas.cli.common.failure import usage

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
_VARIABLE = "BARNABAS_BOOTSTRAP"

Bootstrap = Annotated[
    str,
    typer.Option(
        "--bootstrap",
        "--bootstrap-server",
        "-b",
        envvar=_VARIABLE,
        metavar="HOST:PORT",
        help="The node to speak to, or several with commas.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic's name.")]


def to_paste(words: str, bootstrap: str) -> str:
    """A command for the same cluster as this one: pasted without -b it would speak to another, and change that."""
    usual = os.environ.get(_VARIABLE) or DEFAULT_BOOTSTRAP
    return f"barnabas {words}" + ("" if bootstrap == usual else f" -b {shlex.quote(bootstrap)}")


def pairs(items: list[str] | None, flag: str, example: str = "retention.ms=3600000") -> dict[str, str]:
    """`name=value` as often as the flag is given. The value may hold more equal signs."""
    found: dict[str, str] = {}
    for item in items or ():
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise usage(f"{flag} {item!r} is not name=value", f"Write it as {flag} {example}.")
        if found.get(name.strip(), value) != value:
            raise usage(f"{flag} gives {name.strip()} twice, {found[name.strip()]!r} and {value!r}", "Say one of them.")
        found[name.strip()] = value
    return found


def confirm(question: str, yes: bool) -> None:
    """Ask before something is lost. Without a terminal to ask on, --yes must have been given."""
    import sys

    if yes:
        return
    if not sys.stdin.isatty():
        raise usage(f"{question} Nobody is here to answer.", "Say --yes.")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        from barnabas.cli.common.failure import Failure

        raise Failure("nothing was changed")
