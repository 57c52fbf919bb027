"""`barnabas registry`: a schema registry with Confluent's REST API."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.common.failure import Failure
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm
from barnabas.cli.common.registry import DEFAULT_REGISTRY, RegistryUrl, connected_http
from barnabas.cli.common.screen import outcome, say

app = typer.Typer(
    name="registry", help="A schema registry with Confluent's REST API.", rich_markup_mode=None, no_args_is_help=False
)


@app.callback(invoke_without_command=True)
def registry(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="Address to serve on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65_535, metavar="PORT", help="Port to serve on; 0: any free.")
    ] = 8081,
    topic: Annotated[
        str, typer.Option("--topic", metavar="TOPIC", help="The topic that keeps the schemas; made when it is missing.")
    ] = "_schemas",
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="URL", help="Where other instances reach this one, when it is another."),
    ] = None,
    certificate: Annotated[
        str | None, typer.Option("--certificate", metavar="FILE", help="Serve HTTPS with this certificate (PEM).")
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", metavar="FILE", help="Its key, where it is in a file of its own.")
    ] = None,
    ca: Annotated[
        str | None, typer.Option("--ca", metavar="FILE", help="Who signs the certificates of other instances.")
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Serve a schema registry with Confluent's REST API, until Ctrl-C.

    Schemas are kept in a topic of the cluster, so several instances can serve the same ones (docs/registry.md).

    \b
    Example:
      barnabas registry
      barnabas registry --bootstrap events.example.org:9092 --host 0.0.0.0 --address http://registry-1.example.org:8081
    """
    if context.invoked_subcommand is not None:
        return
    from barnabas.cli.up.logging import log_to_stderr
    from barnabas.cli.up.options import UpOptions
    from barnabas.registry.options import Problem, RegistryOptions
    from barnabas.registry.server import run

    log_to_stderr(UpOptions())  # by BARNABAS_LOG_LEVEL and BARNABAS_LOG_FORMAT; else warnings
    try:
        options = RegistryOptions(bootstrap, host, port, topic, address, certificate, key, ca, _profile(bootstrap))
        run(options, _ready)
    except Problem as problem:
        raise Failure(problem.message, problem.way_out) from None


@app.command("import")
def import_registry(
    source: Annotated[str, typer.Argument(metavar="URL|FILE", help="Another registry, or what export has written.")],
    registry: RegistryUrl = DEFAULT_REGISTRY,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Take over what another registry or a file has.

    Schemas with their ids, deleted ones, levels and modes. The other one may be Confluent's; make it READONLY before.
    Doing it again finishes what was interrupted.

    \b
    Example:
      barnabas registry import http://old-registry.example.org:8081
      barnabas registry import schemas.jsonl --registry http://registry-1.example.org:8081
    """
    from barnabas.cli.registry.moving import read_file, read_registry, write_registry

    if "://" in source:
        with connected_http(source) as http:
            moved = read_registry(http)
    else:
        try:
            with Path(source).expanduser().open(encoding="utf-8") as lines:
                moved = read_file(lines, source)
        except UnicodeDecodeError as error:
            raise Failure(f"{source} is not text: {error}") from None
    confirm(f"Write {moved.told()} into {registry}?", yes)
    with connected_http(registry) as http:
        write_registry(http, moved)
    outcome(as_json, moved.counts(), f"took over {moved.told()}")


@app.command("export")
def export_registry(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to write them; - is the standard output.")],
    registry: RegistryUrl = DEFAULT_REGISTRY,
    as_json: AsJson = False,
) -> None:
    """Write all that a registry has to a file.

    It has a record a line, as JSON; import reads it.

    \b
    Example:
      barnabas registry export schemas.jsonl
      barnabas registry export - --registry http://registry.example.org:8081
    """
    from barnabas.cli.registry.moving import read_registry, write_file

    with connected_http(registry) as http:
        moved = read_registry(http)
    if file == "-":
        write_file(moved, sys.stdout)
        return
    with Path(file).expanduser().open("w", encoding="utf-8") as out:
        write_file(moved, out)
    outcome(as_json, {**moved.counts(), "file": file}, f"wrote {moved.told()} to {file}")


def _profile(bootstrap: str) -> dict[str, str]:
    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for
    from barnabas.client.errors import BadSetting

    try:
        return profile_for(addresses(bootstrap))
    except BadSetting as error:
        raise Failure(str(error)) from None


def _ready(address: str) -> None:
    say(f"the registry is at {address}   (Ctrl-C ends it)")
    sys.stdout.flush()
