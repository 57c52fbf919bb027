"""`barnabas cluster`: see a cluster, spread its load, empty a node, and watch it lose a leader and nothing else."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.cluster.health import DEGRADED, HEALTHY, UNAVAILABLE, Problem, exit_code, problems
from barnabas.cli.cluster.kill_test import kill_test
from barnabas.cli.cluster.recover import recover
from barnabas.cli.cluster.voters import voters
from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm
from barnabas.cli.common.screen import Column, emit_json, facts, paint, say, table

if TYPE_CHECKING:
    from barnabas.cli.cluster.plan import Move
    from barnabas.cli.cluster.view import Broker, View
    from barnabas.cli.common.wire_client import Cluster

app = typer.Typer(help="See a cluster, spread its load, empty a node, test a failover.", no_args_is_help=True)
app.command("kill-test")(kill_test)
app.command("voters")(voters)
app.command("recover")(recover)

DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Show the plan, and change nothing.")]
AtOnce = Annotated[int, typer.Option("--at-once", min=1, max=1000, metavar="N", help="Partitions moved side by side.")]
Throttle = Annotated[
    str | None,
    typer.Option("--throttle", metavar="RATE", help="At most so many bytes a second and node: 50MB, 200KB."),
]
_SHOWN = 20
HEALTH_WORDS = {HEALTHY: "healthy", DEGRADED: "degraded", UNAVAILABLE: "unavailable"}


@app.command("status")
def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Again every second, until Ctrl-C.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show nodes, leaders, the quorum, and what is not safe.

    Exit code 0: healthy. 3: degraded, everything is served but a further failure may not be survived. 4: a partition
    or the quorum has no leader, or a full disk refuses producers. 1: no node could be asked.

    \b
    Example:
      barnabas cluster status
      barnabas cluster status --watch
      barnabas cluster status --json | jq '.partitions[] | select(.leader < 0)'
    """
    from dataclasses import asdict

    from barnabas.cli.cluster.view import View, view
    from barnabas.cli.common.wire_client import Cluster, NotServing

    try:
        with Cluster(bootstrap) as cluster:
            while True:
                found = view(cluster)
                listed = problems(found)
                if as_json:
                    emit_json({"health": HEALTH_WORDS[exit_code(listed)], "problems": listed, **asdict(found)})
                else:
                    if watch:
                        say(("\x1b[2J\x1b[H" if sys.stdout.isatty() else "\n") + time.strftime("%H:%M:%S"))
                    _show(found, listed)
                if not watch:
                    raise typer.Exit(exit_code(listed))
                time.sleep(1.0)
    except NotServing as failure:
        if as_json:
            listed = [Problem(UNAVAILABLE, failure.message, failure.way_out)]
            emit_json({"health": HEALTH_WORDS[UNAVAILABLE], "problems": listed, **asdict(View(""))})
        failure.code = UNAVAILABLE
        raise


def _topics(found: View) -> str:
    internal = sum(each.topic.startswith("__") for each in found.partitions)
    told = f"{human.plural(found.topics, 'topic')}, {human.plural(len(found.partitions) - internal, 'partition')}"
    return f"{told}; {human.plural(internal, 'partition')} of internal topics" if internal else told


def _show(found: View, listed: list[Problem]) -> None:
    up = sum(broker.up for broker in found.brokers)
    quorum = f"node {found.quorum_leader} leads, epoch {found.quorum_epoch}, voters {', '.join(map(str, found.voters))}"
    facts(
        [
            ("cluster", found.cluster_id),
            ("nodes", f"{up} of {len(found.brokers)} up"),
            ("quorum", quorum if found.quorum_leader >= 0 else "no leader is known now"),
            ("topics", _topics(found)),
            ("health", _health(listed)),
        ]
    )
    for problem in listed:
        say(paint(f"  {problem.text}", "red" if problem.severity == UNAVAILABLE else "yellow"))
        say(paint(f"  → {problem.way_out}", "dim"))
    say()
    columns = (
        Column("node", True, style="bold"), Column("address", flexible=True), Column("rack"), Column("state"),
        Column("leads", True), Column("replicas", True), Column("quorum"), Column("behind", True),
    )  # fmt: skip
    table(columns, (_row(broker) for broker in found.brokers))
    for title, partitions in (("without a leader", found.without_leader), ("under-replicated", found.under_replicated)):
        if partitions:
            say()
            say(paint(f"{title}:", "red" if title.startswith("without") else "yellow"))
            for each in partitions[:_SHOWN]:
                say(f"  {each.name}  replicas {_ids(each.replicas)}  in sync {_ids(each.isr)}")
            if len(partitions) > _SHOWN:
                say(f"  and {len(partitions) - _SHOWN} more")


def _health(listed: list[Problem]) -> str:
    code = exit_code(listed)
    if code == HEALTHY:
        return paint("healthy", "green") + ": every partition is fully replicated"
    return paint(HEALTH_WORDS[code], "red" if code == UNAVAILABLE else "yellow")


def _row(broker: Broker) -> list[str]:
    behind = "-" if broker.behind is None else human.count(broker.behind)
    address = f"{broker.host}:{broker.port}" if broker.port else "controller only" if broker.up else "not a broker now"
    return [
        str(broker.id), address, broker.rack or "-", "up" if broker.up else "down",
        human.count(broker.leads), human.count(broker.replicas), broker.role or "-", behind,
    ]  # fmt: skip


def _ids(ids: tuple[int, ...]) -> str:
    return ",".join(map(str, ids)) or "none"


@app.command("balance")
def balance(
    dry_run: DryRun = False,
    throttle: Throttle = None,
    at_once: AtOnce = 10,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Spread partitions and leaders evenly over the nodes that are up.

    Clients go on while partitions move. Ctrl-C stops: what is under way is taken back, what is done stays.

    \b
    Example:
      barnabas cluster balance --dry-run
      barnabas cluster balance --throttle 50MB
    """
    from barnabas.cli.cluster.moves import prefer
    from barnabas.cli.cluster.view import view
    from barnabas.cli.common.wire_client import Cluster

    rate = _rate(throttle)
    with Cluster(bootstrap) as cluster:
        moves = _planned(cluster, frozenset())
        elsewhere = view(cluster).led_elsewhere
        if not moves and not elsewhere:
            say("the cluster is balanced: nothing to move")
            return
        _tell_plan(moves)
        if elsewhere:
            say(f"{human.plural(len(elsewhere), 'partition')} to be led by the first replica again")
        if dry_run:
            return
        if moves:
            confirm(f"Move {human.plural(len(moves), 'partition')}?", yes)
        _carry_out(cluster, bootstrap, moves, at_once, rate)
        if elsewhere:
            prefer(cluster, elsewhere)
    say(f"moved {human.plural(len(moves), 'partition')}" if moves else "done")


@app.command("drain")
def drain(
    node: Annotated[int, typer.Argument(metavar="NODE", help="The node's id.")],
    dry_run: DryRun = False,
    throttle: Throttle = None,
    at_once: AtOnce = 10,
    keep: Annotated[bool, typer.Option("--keep", help="Empty it, but leave it a member of the cluster.")] = False,
    promote: Annotated[
        int | None, typer.Option("--promote", metavar="NODE", help="The node that votes in its place.")
    ] = None,
    yes: Yes = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Move everything off a node and take it out of the cluster.

    Its partitions go to the other nodes, its vote in the quorum is taken back, and its registration ends. Stop it
    afterwards; a node that is down already can be drained too, as long as its partitions have other replicas. Where
    fewer than three voters would be left, another controller becomes a voter in its place, if there is one.

    \b
    Example:
      barnabas cluster drain 3
      barnabas cluster drain 3 --keep --throttle 50MB
    """
    from barnabas.cli.cluster.leave import leave, voter_in_place_of
    from barnabas.cli.cluster.view import view
    from barnabas.cli.cluster.voters import candidate, quorum
    from barnabas.cli.common.wire_client import Cluster

    rate = _rate(throttle)
    if keep and promote is not None:
        raise usage("--keep and --promote at once", "With --keep the node keeps its vote.")
    with Cluster(bootstrap) as cluster:
        known = [broker.id for broker in view(cluster).brokers]
        if node not in known:
            raise Failure(f"there is no node {node}", f"There are {', '.join(map(str, known))}.")
        if promote is not None and promote not in quorum(cluster).voters:
            candidate(cluster, promote)  # before anything moves
        moves = _planned(cluster, frozenset({node}))
        _tell_plan(moves)
        if promote is None and not keep:
            promote = voter_in_place_of(cluster, node)
        if promote is not None:
            say(f"node {promote} becomes a voter of the quorum")
        if dry_run:
            return
        ending = "" if keep else " and take it out of the cluster"
        confirm(f"Empty node {node}{ending}?", yes)
        _carry_out(cluster, bootstrap, moves, at_once, rate)
        if not keep:
            leave(cluster, node, promote)
    say(f"node {node} is empty" + ("" if keep else " and no member of the cluster any more: stop it now"))


def _planned(cluster: Cluster, leaving: frozenset[int]) -> list[Move]:
    from barnabas.cli.cluster.plan import NoRoom, plan
    from barnabas.cli.cluster.view import sizes, view

    found = view(cluster)
    if found.quorum_leader < 0:
        raise Failure(
            "the quorum has no leader: nothing can be moved", "See which voters are down: barnabas cluster status"
        )
    stuck = [each for each in found.without_leader if leaving & set(each.replicas)]
    if stuck:
        more = f" and {len(stuck) - 1} more" if len(stuck) > 1 else ""
        where = _ids(stuck[0].replicas)
        raise Failure(
            f"{stuck[0].name}{more} cannot be moved: no replica that has all records is up (replicas {where})",
            "Start its node first; if that is lost for ever, delete the topic.",
        )
    movable = [each for each in found.partitions if each.leader >= 0]
    try:
        return plan(found.brokers, movable, sizes(cluster, found.brokers), leaving)
    except NoRoom as error:
        raise Failure(str(error), "Add a node first, or give those topics fewer replicas.") from None


def _tell_plan(moves: list[Move]) -> None:
    if not moves:
        return
    columns = (
        Column("partition", flexible=True, style="bold"), Column("replicas"), Column("becomes"), Column("data", True)
    )  # fmt: skip
    rows = ([move.partition.name, _ids(move.partition.replicas), _ids(move.replicas), _data(move)] for move in moves)
    table(columns, rows)
    total = sum(move.bytes * len(move.added) for move in moves)
    say(f"{human.plural(len(moves), 'partition')}, {human.size(total)} to copy")


def _data(move: Move) -> str:
    return human.size(move.bytes * len(move.added)) if move.added else "leader only"


def _carry_out(cluster: Cluster, bootstrap: str, moves: list[Move], at_once: int, rate: int | None) -> None:
    from barnabas.cli.cluster.moves import carry_out, throttled

    if moves:
        with throttled(bootstrap, moves, rate):
            carry_out(cluster, moves, at_once)


_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


def _rate(text: str | None) -> int | None:
    """`50MB` a second."""
    if text is None:
        return None
    number = text.rstrip("BbKkMmGgIi/s ")
    unit = text[len(number) :].upper().removesuffix("/S").strip()
    if not number.isdigit() or unit not in _UNITS or not int(number):
        raise usage(f"--throttle {text!r} is not a rate", "Write it as 50MB or 200KB (a second).")
    return int(number) * _UNITS[unit]
