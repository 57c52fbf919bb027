"""`barnabas doctor`: can a client reach this node, what will it be told, what does the node say of itself (where it
runs on this machine), and is this machine fit to run one.

Each line is ok, warn or fail, with the way out. Exit code 1 when something failed; warnings alone are 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from barnabas.cli.common.failure import FAILED
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap
from barnabas.cli.common.screen import emit_json, paint, quoted, say

Status = Literal["ok", "warn", "fail"]
_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


@dataclass(frozen=True, slots=True)
class Check:
    status: Status
    what: str
    told: str
    way_out: str = ""


def doctor(
    write: Annotated[
        bool, typer.Option("--write", "-w", help="Also write to a scratch topic: latency, and the node's clock.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", metavar="DIR", help="The data folder to look at; else the folders of the nodes."),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Check that clients can reach the node, and the machine.

    Each line is ok, warn or fail, with the way out. It fails (exit code 1) when a line does.

    \b
    Example:
      barnabas doctor
      barnabas doctor -b events.example.org:9092 --write
      barnabas doctor --data /var/lib/barnabas --json
    """
    from itertools import chain

    from barnabas.cli.doctor import health as checks_health
    from barnabas.cli.doctor import node as checks_node
    from barnabas.cli.doctor import system as checks_system
    from barnabas.cli.up.settings import default_data

    folders = [Path(data).expanduser()] if data is not None else local_folders(bootstrap) or [default_data()]
    sections = [
        ("node", checks_node.checks(bootstrap, write=write)),
        ("health", chain.from_iterable(map(checks_health.checks, folders))),
        ("system", checks_system.checks(folders)),
    ]
    found: dict[str, list[Check]] = {}
    for name, checks in sections:
        found[name] = []
        if not as_json:
            say(paint(name, "bold"))
        for check in checks:
            found[name].append(check)
            if not as_json:
                _show(check)
    if as_json:
        emit_json(found)
    if any(check.status == "fail" for checks in found.values() for check in checks):
        raise typer.Exit(FAILED)


def local_folders(bootstrap: str) -> list[Path]:
    """The data folders of the cluster's nodes, as the nodes say it themselves, as far as they are on this machine."""
    from barnabas.cli.common.cluster import Cluster
    from barnabas.cli.common.failure import Failure
    from barnabas.client.errors import BarnabasError
    from barnabas.wire.apis import DESCRIBE_LOG_DIRS

    try:
        with Cluster(bootstrap) as cluster:
            told = [cluster.ask(node, DESCRIBE_LOG_DIRS, {"topics": []}).results for node in sorted(cluster.brokers)]
    except (BarnabasError, Failure):
        return []  # what is wrong is the first section's to say
    return [Path(each.log_dir) for results in told for each in results if (Path(each.log_dir) / ".lock").exists()]


def _show(check: Check) -> None:
    say(f"  {paint(check.status.ljust(4), _COLOURS[check.status])}  {check.what.ljust(12)}  {quoted(check.told)}")
    if check.way_out and check.status != "ok":
        say(f"  {' ' * 4}  {' ' * 12}  {paint('→ ' + check.way_out, 'dim')}")
