"""`barnabas cluster`: the commands about a whole cluster; this file has `status`, the others are beside it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.cluster.balance import balance, drain
from barnabas.cli.cluster.health import DEGRADED, HEALTHY, UNAVAILABLE, Problem, exit_code, problems
from barnabas.cli.cluster.kill_test import kill_test
from barnabas.cli.cluster.recover import recover
from barnabas.cli.cluster.voters import voters
from barnabas.cli.cluster.zones import show
from barnabas.cli.common import human
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap
from barnabas.cli.common.screen import Column, emit_json, facts, paint, say, table

if TYPE_CHECKING:
    from barnabas.cli.cluster.view import View
    from barnabas.operate.placement.nouns import Broker

app = typer.Typer(help="See a cluster, spread its load, empty a node, test a failover.", no_args_is_help=True)
app.command("kill-test")(kill_test)
app.command("voters")(voters)
app.command("recover")(recover)
app.command("balance")(balance)
app.command("drain")(drain)

_SHOWN = 20
HEALTH_WORDS = {HEALTHY: "healthy", DEGRADED: "degraded", UNAVAILABLE: "unavailable"}


@app.command("status")
def status(
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Again every second, until Ctrl-C.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show nodes, leaders, zones, the quorum, and what is not safe.

    Where nodes name a zone (broker.rack), each zone is shown with what its loss would cost.

    Exit code 0: healthy. 3: degraded, everything is served but a further failure may not be survived. 4: a partition
    or the quorum has no leader, or a full disk refuses producers. 1: no node could be asked.

    \b
    Example:
      barnabas cluster status
      barnabas cluster status --watch
      barnabas cluster status --json | jq '.partitions[] | select(.leader < 0)'
      barnabas cluster status --json | jq '.zones[] | {name, if_lost}'
    """
    from dataclasses import asdict

    from barnabas.cli.cluster.view import View, view
    from barnabas.cli.common.cluster import Cluster, NotServing

    try:
        with Cluster(bootstrap) as cluster:
            while True:
                found = view(cluster)
                listed = problems(found, bootstrap)
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
    show(found.zones)
    for title, partitions in (("without a leader", found.without_leader), ("under-replicated", found.under_replicated)):
        if partitions:
            say()
            say(paint(f"{title}:", "red" if title.startswith("without") else "yellow"))
            # Topics of users first: fifty partitions of __consumer_offsets would hide them.
            partitions = sorted(partitions, key=lambda each: each.topic.startswith("__"))
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
