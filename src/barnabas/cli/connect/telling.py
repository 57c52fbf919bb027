"""`connect list` and `connect status`: what definitions and workers say, for people."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cli.common import human
from barnabas.cli.common.screen import Column, emit_json, facts, say, table
from barnabas.connect.cluster import definitions, positions, status
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.cluster.definitions import Entry
from barnabas.connect.cluster.status import TaskStatus
from barnabas.connect.contract import Position
from barnabas.connect.definition.shown import shown
from barnabas.connect.operations import redriving, states


@dataclass(frozen=True)
class Row:
    name: str
    side: str
    connector: str
    engine: str
    state: str
    workers: int
    rate: str
    behind: str
    dead: str
    problem: str


def rows_of(cluster: Cluster) -> list[Row]:
    told: dict[str, list[TaskStatus]] = {}
    for each in status.read_all(cluster):
        if not each.is_silent:
            told.setdefault(each.connector, []).append(each)
    return [_row(entry, told.get(name, [])) for name, entry in sorted(definitions.read_all(cluster).items())]


def _row(entry: Entry, tasks: list[TaskStatus]) -> Row:
    definition = entry.definition
    problem = next((each.problem for each in tasks if each.problem), "")
    dead = sum(each.dead for each in tasks)
    return Row(
        definition.name,
        definition.side,
        definition.connector,
        definition.engine,
        state_of(entry, tasks),
        len({each.worker for each in tasks}),
        human.rate(sum(each.records_per_s for each in tasks), 1) if tasks else "-",
        behind_of(tasks),
        human.count(dead) if tasks else "-",
        problem,
    )


def state_of(entry: Entry, tasks: list[TaskStatus]) -> str:
    if entry.state == "paused":
        return "paused"
    if not tasks:
        return "no worker"
    kinds = {each.state for each in tasks}
    return next((kind for kind in ("failed", "waiting", "starting", "running") if kind in kinds), "stopped")


def behind_of(tasks: list[TaskStatus]) -> str:
    records = [each.behind_records for each in tasks if each.behind_records is not None]
    if records:
        return human.count(sum(records))
    sizes = [each.behind_bytes for each in tasks if each.behind_bytes is not None]
    return human.size(sum(sizes)) if sizes else "-"


def show(cluster: Cluster, name: str, as_json: bool) -> None:
    entry = states.found(cluster, name)
    tasks = [each for each in status.read_all(cluster) if each.connector == name and not each.is_silent]
    found = _positions(cluster, entry)
    dead = redriving.waiting(cluster, entry.definition)
    if as_json:
        emit_json(_told(entry, tasks, found, dead))
        return
    _show_facts(entry, tasks, dead)
    if tasks:
        say()
        columns = (
            Column("worker", style="bold"),
            Column("task", right=True),
            Column("state"),
            Column("records", right=True),
            Column("records/s", right=True),
            Column("works on", flexible=True),
        )
        table(columns, (_task_cells(each) for each in tasks))
    if found:
        say()
        splits = (Column("split", style="bold"), Column("position", flexible=True))
        table(splits, ([split, str(position)] for split, position in found.items()))


def _told(entry: Entry, tasks: list[TaskStatus], found: dict[str, Position], dead: int) -> dict[str, object]:
    definition = entry.definition
    return {
        "name": definition.name,
        "state": state_of(entry, tasks),
        "side": definition.side,
        "connector": definition.connector,
        "engine": definition.engine,
        "options": shown(definition.options),
        "group": definition.group,
        "tasks": tasks,
        "positions": found,
        "dead_letters_waiting": dead,
    }


def _show_facts(entry: Entry, tasks: list[TaskStatus], dead: int) -> None:
    definition = entry.definition
    options = " ".join(f"{word}={value}" for word, value in shown(definition.options).items())
    facts(
        [
            ("connector", definition.name),
            ("state", state_of(entry, tasks)),
            (definition.side, f"{definition.connector}, {options}"),
            ("topic" if definition.topic else "topics", definition.topic or ", ".join(definition.topics)),
            ("engine", definition.engine),
            ("group", definition.group),
            ("behind", behind_of(tasks)),
            ("dead letters", f"{dead} in {definition.dead_topic}" if dead else ""),
            ("problem", next((each.problem for each in tasks if each.problem), "")),
        ]
    )


def _positions(cluster: Cluster, entry: Entry) -> dict[str, Position]:
    definition = entry.definition
    if definition.side == "sink":
        return {}
    return positions.read(cluster, definition, cluster.partitions_of(definition.positions_topic))


def _task_cells(task: TaskStatus) -> list[str]:
    rate = human.rate(task.records_per_s, 1)
    return [task.worker, str(task.task), task.state, human.count(task.records), rate, ", ".join(task.parts)]
