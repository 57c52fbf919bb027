"""`barnabas connect`: records from other systems into topics, and from topics into other systems."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import warn
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm
from barnabas.cli.common.screen import Column, emit_json, outcome, say, table
from barnabas.cli.connect.problems import told_in_one_line

if TYPE_CHECKING:
    from barnabas.connect.cluster.connection import Cluster

app = typer.Typer(help="Connect other systems with topics, both ways.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The connector's name.")]
Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Definitions, in YAML.")]
Functions = Annotated[
    list[Path] | None,
    typer.Option("--functions", metavar="FOLDER", help="Python files in it may be run as connectors."),
]

OnSpark = Annotated[bool, typer.Option("--spark", help="Run those with engine: spark, and not the others.")]
Master = Annotated[str, typer.Option("--master", metavar="URL", help="Spark's master, such as spark://HOST:7077.")]


@app.command("run")
def run(
    files: Files,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Run the connectors of files, until Ctrl-C.

    The same command on another machine shares the work. Where a connector stands is kept in the cluster.

    \b
    Example:
      barnabas connect run orders.yaml
    """
    from barnabas.cli.connect.files import loaded
    from barnabas.cli.connect.running import run_definitions

    with told_in_one_line():
        run_definitions(bootstrap, loaded(files))


@app.command("worker")
def worker(
    functions: Functions = None, spark: OnSpark = False, master: Master = "", bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> None:
    """Run all connectors that were added, until Ctrl-C.

    \b
    Example:
      barnabas connect worker
    """
    from barnabas.cli.connect.running import run_added, run_added_on_spark
    from barnabas.connect.python_functions import allow_folder
    from barnabas.connect.spark.settings import SparkSettings, checked_master

    with told_in_one_line():
        for each in functions or ():
            allow_folder(each)
        if spark or master:
            run_added_on_spark(bootstrap, SparkSettings(master=checked_master(master)))
        else:
            run_added(bootstrap)


@app.command("add")
def add(files: Files, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Add connectors, or change them, for the workers to run.

    \b
    Example:
      barnabas connect add orders.yaml
    """
    from barnabas.cli.connect.files import loaded
    from barnabas.connect.definition.shown import literal_secrets
    from barnabas.connect.operations import states

    with told_in_one_line():
        definitions = loaded(files)
        cluster = _cluster(bootstrap)
        changed = [each.name for each in definitions if states.add(cluster, each)]
    for each in definitions:
        for option in literal_secrets(each):
            warn(f"{each.name}: the secret in {option!r} is readable in the cluster; write ${{env:NAME}} instead")
    same = [each.name for each in definitions if each.name not in changed]
    text = ", ".join([*(f"added {name}" for name in changed), *(f"{name} is there already" for name in same)])
    engines = {each.engine for each in definitions}
    commands = [f"barnabas connect worker{' --spark' if each == 'spark' else ''}" for each in sorted(engines)]
    outcome(as_json, {"changed": changed, "same": same}, f"{text}. Run them: {'; '.join(commands)}")


@app.command("check")
def check(files: Files, as_json: AsJson = False) -> None:
    """Say whether definitions are right, without running them.

    \b
    Example:
      barnabas connect check orders.yaml
    """
    from barnabas.cli.connect.files import loaded

    with told_in_one_line():
        found = loaded(files)
        for each in found:
            (each.source if each.side == "source" else each.sink)().close()
    told = [{"name": each.name, "side": each.side, "connector": each.connector} for each in found]
    outcome(as_json, told, "\n".join(f"{each.name}: a {each.side}, {each.connector}. Good." for each in found))


@app.command("kinds")
def kinds(as_json: AsJson = False) -> None:
    """List the systems that connectors exist for.

    \b
    Example:
      barnabas connect kinds
    """
    from barnabas.connect.connectors.table import CONNECTORS

    rows = [
        {"name": name, "source": bool(each.source), "sink": bool(each.sink), "about": each.about}
        for name, each in CONNECTORS.items()
    ]
    if as_json:
        emit_json(rows)
        return
    columns = (Column("system", style="bold"), Column("source"), Column("sink"), Column("about", flexible=True))
    told = (
        [str(row["name"]), "yes" if row["source"] else "", "yes" if row["sink"] else "", str(row["about"])]
        for row in rows
    )
    table(columns, told)


@app.command("new")
def new(
    name: Name,
    kind: Annotated[
        str, typer.Option("--kind", metavar="SYSTEM", help="A system of `connect kinds`, or python.")
    ] = "python",
    folder: Annotated[Path, typer.Option("--folder", metavar="FOLDER", help="Where to write it.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a definition, or a connector of your own, to begin with.

    \b
    Example:
      barnabas connect new mine
    """
    from barnabas.cli.connect.new import write

    with told_in_one_line():
        files = write(name, kind, folder)
    told = [str(each) for each in files]
    outcome(as_json, {"files": told}, f"wrote {', '.join(told)}. Run it: barnabas connect run {told[0]}")


@app.command("list")
def list_connectors(as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List the connectors with their state and rate.

    \b
    Example:
      barnabas connect list
    """
    from barnabas.cli.connect.telling import rows_of

    with told_in_one_line():
        rows = rows_of(_cluster(bootstrap))
    if as_json:
        emit_json(rows)
        return
    if not rows:
        say("no connectors. Write one: barnabas connect new NAME; run it: barnabas connect run FILE")
        return
    columns = (
        Column("connector", style="bold"),
        Column("side"),
        Column("system"),
        Column("state"),
        Column("records/s", right=True),
        Column("behind", right=True),
        Column("dead", right=True),
        Column("problem", flexible=True),
    )
    table(
        columns,
        (
            [each.name, each.side, each.connector, each.state, each.rate, each.behind, each.dead, each.problem]
            for each in rows
        ),
    )


@app.command("status")
def status(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Show a connector: its definition, tasks, positions, dead letters.

    \b
    Example:
      barnabas connect status orders
    """
    from barnabas.cli.connect.telling import show

    with told_in_one_line():
        show(_cluster(bootstrap), name, as_json)


@app.command("pause")
def pause(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Stop a connector until it is resumed. It stays where it is.

    \b
    Example:
      barnabas connect pause orders
    """
    from barnabas.connect.operations import states

    with told_in_one_line():
        changed = states.set_state(_cluster(bootstrap), name, "paused")
    text = f"paused {name}" if changed else f"{name} was paused already"
    outcome(as_json, {"name": name, "state": "paused"}, f"{text}. Go on: barnabas connect resume {name}")


@app.command("resume")
def resume(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Let a paused connector go on.

    \b
    Example:
      barnabas connect resume orders
    """
    from barnabas.connect.operations import states

    with told_in_one_line():
        changed = states.set_state(_cluster(bootstrap), name, "running")
    outcome(as_json, {"name": name, "state": "running"}, f"{name} goes on" if changed else f"{name} was not paused")


@app.command("restart")
def restart(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Start a connector anew on every worker.

    It reads its secrets again.

    \b
    Example:
      barnabas connect restart orders
    """
    from barnabas.connect.operations import states

    with told_in_one_line():
        states.restart(_cluster(bootstrap), name)
    outcome(as_json, {"name": name, "state": "running"}, f"{name} starts anew")


@app.command("reset")
def reset(
    name: Name,
    to: Annotated[
        str, typer.Option("--to", metavar="PLACE", help="beginning; of a sink also end, an offset, +N or -N records.")
    ] = "beginning",
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Let a connector begin anew.

    Everything is read or written once more. It is paused meanwhile.

    \b
    Example:
      barnabas connect reset orders --yes
    """
    from barnabas.connect.operations.resetting import reset as do

    with told_in_one_line():
        confirm(f"Let connector {name} begin again at {to}?", yes)
        done = do(_cluster(bootstrap), name, to)
    outcome(as_json, {"name": name, "done": done}, "\n".join(done) or f"{name} stood at its beginning already")


@app.command("remove")
def remove(
    name: Name,
    forget: Annotated[
        bool, typer.Option("--forget", help="Also where it stood, its own topics, and what the source keeps for it.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Remove a connector. Where it stood is kept: added again, it goes on there.

    So is a replication slot of PostgreSQL, which holds its log: --forget removes all of it.

    \b
    Example:
      barnabas connect remove orders --yes
    """
    from barnabas.connect.operations import states
    from barnabas.connect.operations.removing import forget as forget_all

    with told_in_one_line():
        confirm(f"Remove connector {name}{' and all that it keeps' if forget else ''}?", yes)
        cluster = _cluster(bootstrap)
        done = forget_all(cluster, name) if forget else []
        if not forget:
            states.remove(cluster, name)
    kept = f"; removed {', '.join(done)}" if forget else "; its topics and its group stay"
    outcome(as_json, {"name": name, "removed": done}, f"removed {name}{kept}")


@app.command("redrive")
def redrive(
    name: Name,
    again: Annotated[bool, typer.Option("--again", help="Also those that were sent again before.")] = False,
    most: Annotated[int | None, typer.Option("--most", min=1, metavar="N", help="At most so many.")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Send a connector's dead letters again.

    Those of a sink go to it alone, not to other readers of the topic.

    \b
    Example:
      barnabas connect redrive orders --yes
    """
    from barnabas.connect.operations import redriving, states

    with told_in_one_line():
        cluster = _cluster(bootstrap)
        definition = states.found(cluster, name).definition
        count = redriving.waiting(cluster, definition)
        if count or again:
            confirm(f"Send {human.plural(count, 'dead letter')} of {name} again?", yes)
        sent = redriving.redrive(cluster, definition, again=again, most=most)
    outcome(as_json, {"name": name, "sent": sent}, f"sent {human.plural(sent, 'dead letter')} of {name} again")


def _cluster(bootstrap: str) -> Cluster:
    from barnabas.connect.cluster.connection import Cluster

    cluster = Cluster(bootstrap)
    cluster.check()
    return cluster
