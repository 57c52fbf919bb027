"""`barnabas cluster balance` and `drain`: plan which replicas move, show the plan, ask, and move them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm, to_paste
from barnabas.cli.common.screen import Column, emit_json, say, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from barnabas.cli.common.cluster import Cluster
    from barnabas.operate.placement.nouns import Partition
    from barnabas.operate.placement.plan import Move

DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Show the plan, and change nothing.")]
AtOnce = Annotated[int, typer.Option("--at-once", min=1, max=1000, metavar="N", help="Partitions moved side by side.")]
Throttle = Annotated[
    str | None,
    typer.Option("--throttle", metavar="RATE", help="At most so many bytes a second and node: 50MB, 200KB."),
]
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


def balance(
    dry_run: DryRun = False,
    throttle: Throttle = None,
    at_once: AtOnce = 10,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Spread partitions and leaders evenly over the nodes that are up.

    Replicas that share a zone (broker.rack) go to different ones, leaders to those that leader.preferred.racks names.
    Clients go on while partitions move. Ctrl-C stops: what is under way is taken back, what is done stays.

    \b
    Example:
      barnabas cluster balance --dry-run
      barnabas cluster balance --throttle 50MB
      barnabas cluster balance --dry-run --json | jq '.moves | length'
    """
    from barnabas.cli.cluster.moves import prefer
    from barnabas.cli.cluster.view import view
    from barnabas.cli.common.cluster import Cluster

    rate = _rate(throttle)
    with Cluster(bootstrap) as cluster:
        moves = _planned(cluster, frozenset())
        elsewhere = view(cluster).led_elsewhere
        if not as_json:
            _show_plan(moves)
            if elsewhere:
                say(f"{human.plural(len(elsewhere), 'partition')} to be led by the first replica again")
        if not dry_run:
            if moves:
                confirm(f"Move {human.plural(len(moves), 'partition')}?", yes)
            _carry_out(cluster, bootstrap, moves, at_once, rate)
            if elsewhere:
                prefer(cluster, elsewhere)
    if as_json:
        elections = [{"topic": each.topic, "partition": each.index} for each in elsewhere]
        emit_json({"dry_run": dry_run, "moves": _described(moves), "elections": elections})
    elif not moves and not elsewhere:
        say("the cluster is balanced: nothing to move")
    elif not dry_run:
        say(f"moved {human.plural(len(moves), 'partition')}" if moves else "done")


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
    as_json: AsJson = False,
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
      barnabas cluster drain 3 --yes --json
    """
    from barnabas.cli.cluster.leave import leave, voter_in_place_of
    from barnabas.cli.cluster.view import view
    from barnabas.cli.cluster.voters import candidate, quorum
    from barnabas.cli.common.cluster import Cluster

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
        if promote is None and not keep:
            promote = voter_in_place_of(cluster, node)
        if not as_json:
            _show_plan(moves)
            if promote is not None:
                say(f"node {promote} becomes a voter of the quorum")
        if not dry_run:
            ending = "" if keep else " and take it out of the cluster"
            confirm(f"Empty node {node}{ending}?", yes)
            _carry_out(cluster, bootstrap, moves, at_once, rate)
            if not keep:
                leave(cluster, node, promote)
    if as_json:
        told = {"dry_run": dry_run, "node": node, "moves": _described(moves), "new_voter": promote, "leaves": not keep}
        emit_json(told)
    elif not dry_run:
        say(f"node {node} is empty" + ("" if keep else " and no member of the cluster any more: stop it now"))


def _planned(cluster: Cluster, leaving: frozenset[int]) -> list[Move]:
    from barnabas.cli.cluster.view import sizes, view
    from barnabas.operate.placement.plan import NoRoom, plan

    found = view(cluster)
    if found.quorum_leader < 0:
        raise Failure(
            "the quorum has no leader: nothing can be moved",
            f"See which voters are down: {to_paste('cluster status', cluster.bootstrap)}",
        )
    stuck = [each for each in found.without_leader if leaving & set(each.replicas)]
    if stuck:
        more = f" and {len(stuck) - 1} more" if len(stuck) > 1 else ""
        raise Failure(
            f"{stuck[0].name}{more} cannot be moved: no replica that has all records is up "
            f"(replicas {_ids(stuck[0].replicas)})",
            "Start its node first; if that is lost for ever, delete the topic.",
        )
    movable: list[Partition] = [each for each in found.partitions if each.leader >= 0]
    try:
        return plan(found.brokers, movable, sizes(cluster, found.brokers), leaving, found.preferred)
    except NoRoom as error:
        raise Failure(
            str(error), "Add a node first, or give those topics fewer replicas (kafka-reassign-partitions)."
        ) from None


def _show_plan(moves: Sequence[Move]) -> None:
    if not moves:
        return
    columns = (
        Column("partition", flexible=True, style="bold"), Column("replicas"), Column("becomes"), Column("data", True)
    )  # fmt: skip
    rows = ([move.partition.name, _ids(move.partition.replicas), _ids(move.replicas), _data(move)] for move in moves)
    table(columns, rows)
    total = sum(move.bytes * len(move.added) for move in moves)
    say(f"{human.plural(len(moves), 'partition')}, {human.size(total)} to move")


def _described(moves: Sequence[Move]) -> list[dict[str, object]]:
    return [
        {
            "topic": move.partition.topic,
            "partition": move.partition.index,
            "replicas": move.partition.replicas,
            "new_replicas": move.replicas,
            "bytes": move.bytes * len(move.added),
        }
        for move in moves
    ]


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids)) or "none"


def _data(move: Move) -> str:
    return human.size(move.bytes * len(move.added)) if move.added else "leader only"


def _carry_out(cluster: Cluster, bootstrap: str, moves: Sequence[Move], at_once: int, rate: int | None) -> None:
    from barnabas.cli.cluster.moves import carry_out, throttled

    if moves:
        with throttled(bootstrap, moves, rate):
            carry_out(cluster, moves, at_once)


def _rate(text: str | None) -> int | None:
    """`50MB` a second."""
    if text is None:
        return None
    number = text.rstrip("BbKkMmGgIi/s ")
    unit = text[len(number) :].upper().removesuffix("/S").strip()
    if not number.isdigit() or unit not in _UNITS or not int(number):
        raise usage(f"--throttle {text!r} is not a rate", "Write it as 50MB or 200KB (a second).")
    return int(number) * _UNITS[unit]
