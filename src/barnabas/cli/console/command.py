"""`barnabas console`: a cluster in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, Bootstrap
from barnabas.cli.common.screen import say

if TYPE_CHECKING:
    from barnabas.console.options import ConsoleOptions

app = typer.Typer(
    help="A cluster in the browser: look at it, search it, change it.",
    invoke_without_command=True,
    no_args_is_help=False,
)


@app.callback()
def console(
    context: typer.Context,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="HOST", help="Address to serve on; another than 127.0.0.1 needs logins."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", "-p", min=0, max=65_535, metavar="PORT", help="Usually 8080; 0: any free."),
    ] = None,
    config: Annotated[
        str | None,
        typer.Option("--config", "-c", metavar="FILE", help="A TOML file: several clusters, users, roles, TLS."),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Nobody can change anything.")] = False,
    pipelines: Annotated[
        str | None,
        typer.Option("--pipelines", metavar="DIR", help="Where pipelines of this machine keep their state."),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Serve a cluster to browsers until Ctrl-C: topics, records, search, groups, nodes, access.

    On a secured cluster a person signs in with their own user, and can do here what that user can. docs/console.md.

    \b
    Example:
      barnabas console
      barnabas console --bootstrap events.example.org:9092 --port 8000
      barnabas console --config console.toml
    """
    if context.invoked_subcommand is not None:
        return
    from dataclasses import replace

    from barnabas.console.problems import Problem
    from barnabas.console.server import run

    try:
        options = _options(host, port, config, read_only, bootstrap)
        run(options if pipelines is None else replace(options, pipelines=pipelines), _ready)
    except Problem as problem:
        raise Failure(problem.message, problem.way_out) from None


@app.command("password")
def password() -> None:
    """Ask for a password and print its hash, for [users] of a console's --config file.

    \b
    Example:
      barnabas console password
    """
    from barnabas.console.people.passwords import hashed

    say(hashed(typer.prompt("password", hide_input=True, confirmation_prompt=True)))


def _options(host: str | None, port: int | None, config: str | None, read_only: bool, bootstrap: str) -> ConsoleOptions:
    from dataclasses import replace

    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for
    from barnabas.client.errors import BadSetting
    from barnabas.console.options import ClusterOptions, ConsoleOptions, load

    if config is not None:
        options = load(Path(config).expanduser())
    else:
        try:
            profile = profile_for(addresses(bootstrap))
        except BadSetting as error:
            raise Failure(str(error)) from None
        options = ConsoleOptions(clusters=(ClusterOptions("local", bootstrap, profile),))
    return replace(
        options,
        host=options.host if host is None else host,
        port=options.port if port is None else port,
        read_only=options.read_only or read_only,
    )


def _ready(address: str) -> None:
    say(f"the console is at {address}   (Ctrl-C ends it)")
    sys.stdout.flush()
