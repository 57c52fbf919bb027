"""`barnabas top`: what a cluster does now. Live on a terminal, one look with --once or in a pipe."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from barnabas.cli.common.screen import Column
    from barnabas.cli.top.watching import Watch
    from barnabas.client.admin.admin import Admin
    from barnabas.observe.overview import Overview

_ONCE_S = 1.0  # between the two looks that a rate needs
_ANSWER_S = 4.0  # a node that has just died answers nothing, and is waited for so long
_ROWS = 10
_SWITCH_ON = (
    "No node serves metrics. Switch them on: barnabas up --set metrics.listeners=http://127.0.0.1:9404 "
    "(docs/metrics.md)"
)


def top(
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    once: Annotated[bool, typer.Option("--once", help="Show one look and exit.")] = False,
    interval: Annotated[float, typer.Option("--interval", min=0.5, help="Seconds between two looks.")] = 2.0,
    rows: Annotated[int, typer.Option("--rows", min=1, help="How many topics and groups to show.")] = _ROWS,
    as_json: AsJson = False,
) -> None:
    """Show what the nodes, topics and groups of a cluster do now.

    Rates, times, the busiest topics, the groups furthest behind in seconds, and what is wrong. Nodes need
    metrics.listeners for that; without it, what the protocol alone tells is shown.

    \b
    Example:
      barnabas top --once
      barnabas top --once --json
    """
    from barnabas.cli.common.link import admin
    from barnabas.cli.common.login import login_for
    from barnabas.cli.top.watching import Watch

    with admin(bootstrap, _ANSWER_S) as opened:
        watch = Watch(opened, login_for(bootstrap))
        try:
            if not watch.serves:
                _by_protocol(watch, opened, rows, as_json)
            elif once or as_json or not sys.stdout.isatty():
                _once(watch, rows, as_json)
            else:
                _live(watch, interval, rows)
        finally:
            watch.close()


def _once(watch: Watch, rows: int, as_json: bool) -> None:
    from barnabas.cli.common.screen import emit_json, paint, say, table
    from barnabas.cli.top.tables import GROUPS, NODES, TOPICS, group_row, node_row, topic_row

    watch.look()
    time.sleep(_ONCE_S)
    seen = watch.look()
    if as_json:
        emit_json(_json(seen, rows))
        return
    table(NODES, [node_row(row) for row in seen.nodes])
    if seen.topics:
        say()
        table(TOPICS, [topic_row(row) for row in seen.topics[:rows]])
    if seen.groups:
        say()
        table(GROUPS, [group_row(row) for row in seen.groups[:rows]])
    say()
    for problem in seen.problems:
        say(paint(problem, "red"))
    if not seen.problems:
        say(paint("nothing is wrong", "green"))


def _json(seen: Overview, rows: int) -> dict[str, object]:
    return {
        "nodes": [row._asdict() for row in seen.nodes],
        "topics": [row._asdict() for row in seen.topics[:rows]],
        "groups": [row._asdict() for row in seen.groups[:rows]],
        "problems": seen.problems,
    }


def _live(watch: Watch, interval: float, rows: int) -> None:
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(highlight=False), screen=True, auto_refresh=False) as live:
        try:
            while True:
                live.update(_picture(watch.look(), rows), refresh=True)
                time.sleep(interval)
                watch.find_again()
        except KeyboardInterrupt:
            return


def _picture(seen: Overview, rows: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    from barnabas.cli.common.screen import quoted
    from barnabas.cli.top.tables import GROUPS, NODES, TOPICS, group_row, node_row, topic_row

    wrong = [Text(quoted(problem), "red") for problem in seen.problems] or [Text("nothing is wrong", "green")]
    return Group(
        _table(NODES, [node_row(row) for row in seen.nodes]),
        Text(""),
        _table(TOPICS, [topic_row(row) for row in seen.topics[:rows]]),
        Text(""),
        _table(GROUPS, [group_row(row) for row in seen.groups[:rows]]),
        Text(""),
        *wrong,
    )


def _table(columns: tuple[Column, ...], rows: list[tuple[str, ...]]) -> Table:
    from rich.table import Table
    from rich.text import Text

    from barnabas.cli.common.screen import quoted

    shown = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    for column in columns:
        shown.add_column(column.title, justify="right" if column.right else "left", no_wrap=True)
    for row in rows:
        shown.add_row(*[Text(quoted(cell), "red" if cell == "down" else "") for cell in row])
    return shown


def _by_protocol(watch: Watch, admin: Admin, rows: int, as_json: bool) -> None:
    """Without metrics: who is there, and the groups furthest behind."""
    from barnabas.cli.common.screen import Column, emit_json, note, say, table

    described = [admin.describe_group(group.name, with_seconds=False) for group in admin.groups()[:rows]]
    behind = sorted(((group.name, group.lag_records) for group in described), key=lambda each: -each[1])
    topics = len(admin.topics())
    note(_SWITCH_ON)
    if as_json:
        nodes = [{"node": node.node_id, "address": f"{node.host}:{node.port}"} for node in watch.nodes]
        groups = [{"group": name, "lag": lag} for name, lag in behind]
        emit_json({"nodes": nodes, "topics": topics, "groups": groups})
        return
    columns = (Column("NODE", right=True), Column("ADDRESS"))
    table(columns, [(str(node.node_id), f"{node.host}:{node.port}") for node in watch.nodes])
    say()
    say(f"{topics} topics")
    if behind:
        say()
        table((Column("GROUP", flexible=True), Column("RECORDS", right=True)), [(n, f"{lag:,}") for n, lag in behind])
