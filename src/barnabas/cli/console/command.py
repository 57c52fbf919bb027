"""`barnabas console`: a cluster in the browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, Bootstrap
from barnabas.cli.common.screen import say

if TYPE_CHECKING:
    from barnabas.console.options import ConsoleOptions


def console(
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
    hash_password: Annotated[
        bool, typer.Option("--hash-password", help="Ask for a password, print its hash for [users] of FILE, and end.")
    ] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Nobody can change anything.")] = False,
    pipelines: Annotated[
        str | None,
        typer.Option("--pipelines", metavar="DIR", help="Where pipelines of this machine keep their state."),
    ] = None,
    registry: Annotated[
        str | None, typer.Option("--registry", "-r", metavar="URL", help="The cluster's schema registry.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show a cluster in the browser, until Ctrl-C.

    Topics, records, search, groups, nodes, access (docs/console.md). On a secured cluster a person signs in with their
    own user, and can do here what that user can.

    \b
    Example:
      barnabas console
      barnabas console --bootstrap events.example.org:9092 --port 8000
      barnabas console --config console.toml
    """
    if hash_password:
        from barnabas.console.people.passwords import hashed

        say(hashed(typer.prompt("password", hide_input=True, confirmation_prompt=True)))
        return
    from dataclasses import replace

    from barnabas.cli.up.logging import log_to_stderr
    from barnabas.cli.up.options import UpOptions
    from barnabas.console.problems import Problem
    from barnabas.console.server import run

    log_to_stderr(UpOptions())  # by BARNABAS_LOG_LEVEL and BARNABAS_LOG_FORMAT; else warnings
    try:
        options = _options(host, port, config, read_only, bootstrap, registry)
        run(options if pipelines is None else replace(options, pipelines=pipelines), _ready)
    except Problem as problem:
        raise Failure(problem.message, problem.way_out) from None


def _options(
    host: str | None, port: int | None, config: str | None, read_only: bool, bootstrap: str, registry: str | None
) -> ConsoleOptions:
    from dataclasses import replace

    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for
    from barnabas.client.errors import BadSetting
    from barnabas.console.options import ClusterOptions, ConsoleOptions, load

    if config is not None:
        if registry is not None:
            raise usage("--registry is of one cluster", 'In a --config file: registry = "URL" in the cluster\'s table.')
        options = load(Path(config).expanduser())
    else:
        try:
            profile = profile_for(addresses(bootstrap))
        except BadSetting as error:
            raise Failure(str(error)) from None
        options = ConsoleOptions(clusters=(ClusterOptions("local", bootstrap, profile, registry),))
    return replace(
        options,
        host=options.host if host is None else host,
        port=options.port if port is None else port,
        read_only=options.read_only or read_only,
    )


def _ready(address: str) -> None:
    say(f"the console is at {address}   (Ctrl-C ends it)")
    sys.stdout.flush()
