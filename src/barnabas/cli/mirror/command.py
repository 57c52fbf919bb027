"""`barnabas mirror`: topics and groups of several clusters in each other, in the conventions of MirrorMaker 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import AsJson, Yes, confirm
from barnabas.cli.common.screen import outcome, say
from barnabas.cli.connect.problems import told_in_one_line

if TYPE_CHECKING:
    from barnabas.connect.cluster.connection import Cluster
    from barnabas.connect.connectors.mirror.flows import Flow

app = typer.Typer(help="Mirror clusters into each other: both sides may write.", no_args_is_help=True)

Clusters = Annotated[
    list[str],
    typer.Argument(metavar="NAME=HOST:PORT...", help="The clusters, from the first to the others; or a file in YAML."),
]
Both = Annotated[bool, typer.Option("--both", help="From each cluster to each other.")]


@app.command("run")
def run(
    clusters: Clusters,
    both: Both = False,
    topics: Annotated[
        list[str] | None,
        typer.Option("--topics", metavar="REGEX", help="Topics by whole names (RE2); may be repeated."),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--groups", metavar="REGEX", help="Groups by whole names (RE2); may be repeated."),
    ] = None,
    same_names: Annotated[
        bool, typer.Option("--same-names", help="Keep the names of topics: records carry a header against loops.")
    ] = False,
    no_groups: Annotated[bool, typer.Option("--no-groups", help="Without the offsets of groups.")] = False,
    spark: Annotated[bool, typer.Option("--spark", help="Copy in tasks of Spark.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Only look whether what was typed makes sense.")] = False,
) -> None:
    """Mirror clusters, until Ctrl-C.

    The topic orders of east is east.orders in the others. The same command on another machine shares the work and takes
    over. Where it stands is kept in the cluster that is written to, in one transaction with the records. A mirror that
    was paused stays so.

    \b
    Example:
      barnabas mirror run east=10.0.0.1:9092 west=10.1.0.1:9092 --both
      barnabas mirror run mirror.yaml --check
    """
    from barnabas.cli.mirror.flows import flows_typed

    if no_groups and groups:
        raise usage("--no-groups and --groups do not go together", "Say which groups, or that none are translated.")
    options: dict[str, object] = {}
    if topics:
        options["topics"] = topics
    if groups:
        options["groups"] = groups
    if same_names:
        options["same_names"] = True
    if no_groups:
        options["group_offsets"] = "none"
    flows = flows_typed(clusters, both, options, "spark" if spark else "process")
    if check:
        say(f"makes sense: {', '.join(flow.definition.name for flow in flows)}")
        return
    from barnabas.cli.mirror.running import run_flows

    with told_in_one_line():
        run_flows(flows, clusters)


@app.command("status")
def status(clusters: Clusters, both: Both = False, as_json: AsJson = False) -> None:
    """Show how far it is behind, and what groups would read again.

    Exits with 1 while something is wrong.

    \b
    Example:
      barnabas mirror status east=10.0.0.1:9092 west=10.1.0.1:9092 --both
    """
    from barnabas.cli.mirror.status import show, status_of

    with told_in_one_line():
        flows = _flows(clusters, both)
        found = [status_of(flow) for flow in flows]
    told = [_way_on(each.state, flow, clusters) for flow, each in zip(flows, found, strict=True)]
    show(found, told, as_json)
    if not all(each.is_well for each in found):
        raise typer.Exit(1)


def _way_on(state: str, flow: Flow, words: list[str]) -> str:
    """What to type, behind the state."""
    from barnabas.cli.mirror.flows import command

    match state:
        case "paused":
            return f". On again: {command('resume', [flow], words)}"
        case "not there":
            return f". Start it: {command('run', [flow], words)}"
        case "no worker":  # no command: without the options that it had it would copy something else
            return ". Start it again (mirror run), as it was started"
    return ""


@app.command("pause")
def pause(clusters: Clusters, both: Both = False, as_json: AsJson = False) -> None:
    """Stop a mirror until it is resumed. It stays where it is.

    \b
    Example:
      barnabas mirror pause east=10.0.0.1:9092 west=10.1.0.1:9092
    """
    _set(clusters, both, as_json, "paused")


@app.command("resume")
def resume(clusters: Clusters, both: Both = False, as_json: AsJson = False) -> None:
    """Let a paused mirror go on.

    \b
    Example:
      barnabas mirror resume east=10.0.0.1:9092 west=10.1.0.1:9092
    """
    _set(clusters, both, as_json, "running")


@app.command("remove")
def remove(clusters: Clusters, both: Both = False, yes: Yes = False, as_json: AsJson = False) -> None:
    """Forget a mirror: where it stood, and its own topics. What was copied stays.

    \b
    Example:
      barnabas mirror remove east=10.0.0.1:9092 west=10.1.0.1:9092 --yes
    """
    from barnabas.connect.operations.removing import forget

    with told_in_one_line():
        flows = _flows(clusters, both)
        for flow in flows:
            _must_run(flow, clusters)
        names = [flow.definition.name for flow in flows]
        confirm(f"Remove {', '.join(names)} and where they stand?", yes)
        done = [each for flow in flows for each in forget(_target(flow), flow.definition.name)]
    outcome(as_json, {"mirrors": names, "removed": done}, f"removed {', '.join(names)}")


def _set(clusters: list[str], both: bool, as_json: bool, state: Literal["running", "paused"]) -> None:
    from barnabas.cli.mirror.flows import command
    from barnabas.connect.operations import states

    with told_in_one_line():
        flows = _flows(clusters, both)
        for flow in flows:
            _must_run(flow, clusters)
        changed = [
            flow.definition.name for flow in flows if states.set_state(_target(flow), flow.definition.name, state)
        ]
    names = ", ".join(flow.definition.name for flow in flows)
    text = f"{names}: {state}" + ("" if changed else " already")
    if state == "paused":
        text += f". On again: {command('resume', flows, clusters)}"
    outcome(as_json, {"mirrors": [flow.definition.name for flow in flows], "state": state}, text)


def _must_run(flow: Flow, words: list[str]) -> None:
    """Has it ever? Else "there is no connector" would be said of something that nobody calls so."""
    from barnabas.cli.mirror.flows import command
    from barnabas.connect.cluster import definitions

    if flow.definition.name not in definitions.read_all(_target(flow)):
        sides = f"{flow.options.source.name} -> {flow.options.target.name}"
        raise Failure(f"there is no mirror {sides} in {flow.target}", f"Start it: {command('run', [flow], words)}")


def _flows(clusters: list[str], both: bool) -> list[Flow]:
    """As they were started: what they copy is kept in the clusters, and not needed here."""
    from barnabas.cli.mirror.flows import flows_typed
    from barnabas.cli.mirror.started import as_started

    return [as_started(flow) for flow in flows_typed(clusters, both, {})]


def _target(flow: Flow) -> Cluster:
    from barnabas.connect.connectors.mirror.options import cluster_of

    cluster = cluster_of(flow.options.target)
    cluster.check()
    return cluster
