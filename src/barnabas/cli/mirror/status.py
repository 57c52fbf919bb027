"""What a mirror does: how far each partition is behind and how fast it goes, and how much each group would read again
at the other side."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from confluent_kafka import IsolationLevel, TopicPartition

from barnabas.cli.common import human
from barnabas.cli.common.screen import Column, emit_json, facts, say, table
from barnabas.client.admin.rdkafka import OffsetSpec
from barnabas.connect.cluster import definitions, status
from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.connectors.mirror.flows import Flow
from barnabas.connect.connectors.mirror.groups import GroupPlace, Translation, group_places
from barnabas.connect.connectors.mirror.maps import Maps
from barnabas.connect.connectors.mirror.options import cluster_of
from barnabas.connect.errors import ConnectError

_SAMPLE_S = 1.0
_WAIT_S = 20.0


class PartitionRow(NamedTuple):
    topic: str  # as at the source
    partition: int
    offset: int  # comes next
    lag: int | None  # offsets of the source that were not copied; None: the source does not say
    per_s: float
    lost: int  # offsets that were deleted at the source before they were copied, or cut off there after


class FlowStatus(NamedTuple):
    source: str
    target: str
    state: str
    problem: str
    workers: int
    lag: int | None
    per_s: float
    again_max: int  # of the group that would read most again, over its partitions
    partitions: Sequence[PartitionRow]
    groups: Sequence[GroupPlace]

    @property
    def is_well(self) -> bool:
        return self.state == "running" and not self.problem


def status_of(flow: Flow) -> FlowStatus:
    """What the target and, if it is there, the source say. Raises Unavailable without the target."""
    options = flow.options
    source, target = cluster_of(options.source), cluster_of(options.target)
    target.check()
    name = flow.definition.name
    entry = definitions.read_all(target).get(name)
    tasks = [each for each in status.read_all(target) if each.connector == name and not each.is_silent]
    problem = next((each.problem for each in tasks if each.problem), "")
    translation = Translation(options.naming, source, target, settle_s=0)
    try:
        translation.maps.refresh()
        before = _copied(translation.maps)
        began = time.monotonic()
        time.sleep(_SAMPLE_S)
        translation.maps.refresh()
        seconds = time.monotonic() - began
        ends: dict[tuple[str, int], int] = {}
        groups: list[GroupPlace] = []
        try:
            source.check()
            ends = _ends(source, translation.maps.places)
            translation.refresh()
            groups = group_places(options, translation, source, target)
        except ConnectError as unreachable:
            problem = problem or str(unreachable)
        rows = _rows(translation.maps, before, ends, seconds)
    finally:
        translation.close()
    lags = [row.lag for row in rows]
    return FlowStatus(
        options.source.name,
        options.target.name,
        _state(entry, [each.state for each in tasks]),
        problem,
        len({each.worker for each in tasks}),
        sum(each for each in lags if each is not None) if None not in lags else None,
        round(sum(row.per_s for row in rows), 1),
        max(_again(groups).values(), default=0),
        rows,
        groups,
    )


def _state(entry: definitions.Entry | None, states: Sequence[str]) -> str:
    if entry is None:
        return "not there"
    if entry.state == "paused":
        return "paused"
    if not states:
        return "no worker"
    return next((kind for kind in ("failed", "waiting", "starting", "running") if kind in states), "stopped")


def _copied(maps: Maps) -> dict[tuple[str, int], int]:
    return {place: found.last.records for place in maps.places if (found := maps.of(*place)) is not None}


def _rows(
    maps: Maps, before: dict[tuple[str, int], int], ends: dict[tuple[str, int], int], seconds: float
) -> list[PartitionRow]:
    now = _copied(maps)
    rows = []
    for place in maps.places:
        if (copied := maps.copied(*place)) is None:
            continue
        end = ends.get(place)
        lag = None if end is None else max(0, end - copied.offset)
        per_s = max(0, now.get(place, 0) - before.get(place, 0)) / seconds
        rows.append(PartitionRow(*place, copied.offset, lag, round(per_s, 1), copied.lost))
    return rows


def _ends(cluster: Cluster, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Of what is committed. Partitions that are gone, or that nobody leads, are left out."""
    if not places:
        return {}
    asked = {TopicPartition(*place): OffsetSpec.latest() for place in places}
    futures = called(
        lambda: cluster.admin().list_offsets(
            asked, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=_WAIT_S
        )
    )
    found = {}
    for place, future in futures.items():
        if future.exception(_WAIT_S) is None:
            found[place.topic, place.partition] = future.result().offset
    return found


def _again(groups: Sequence[GroupPlace]) -> dict[str, int]:
    """By group: what it would read again in all partitions together."""
    found: dict[str, int] = {}
    for each in groups:
        found[each.group] = found.get(each.group, 0) + each.again_max
    return found


# --- for people -------------------------------------------------------------------------------------------------------


def show(found: Sequence[FlowStatus], hints: Sequence[str], as_json: bool) -> None:
    """`hints`: behind the state of each, what to type."""
    if as_json:
        emit_json(
            [
                each._asdict() | {"groups": [group._asdict() for group in each.groups]} | _json_rows(each)
                for each in found
            ]
        )
        return
    for number, each in enumerate(found):
        if number:
            say()
        _show(each, hints[number])


def _json_rows(each: FlowStatus) -> dict[str, object]:
    return {"partitions": [row._asdict() for row in each.partitions]}


def _show(found: FlowStatus, hint: str) -> None:
    facts(
        [
            ("mirror", f"{found.source} -> {found.target}"),
            ("state", found.state + hint),
            ("workers", str(found.workers)),
            ("behind", "not known" if found.lag is None else human.plural(found.lag, "record")),
            ("rate", human.rate(found.per_s, 1)),
            (
                "read again",
                f"at most {human.plural(found.again_max, 'record')}, by a group that goes on at {found.target}",
            ),
            ("problem", found.problem),
        ]
    )
    if found.partitions:
        say()
        columns = (
            Column("topic", style="bold", flexible=True),
            Column("partition", right=True),
            Column("offset", right=True),
            Column("behind", right=True),
            Column("records/s", right=True),
            Column("lost", right=True),
        )
        table(columns, (_partition_cells(row) for row in found.partitions))
    if found.groups:
        say()
        columns = (
            Column("group", style="bold", flexible=True),
            Column(f"topic at {found.target}", flexible=True),
            Column("partition", right=True),
            Column(f"at {found.source}", right=True),
            Column(f"at {found.target}", right=True),
            Column("read again", right=True),
        )
        table(columns, (_group_cells(group) for group in found.groups))


def _partition_cells(row: PartitionRow) -> list[str]:
    lag = "-" if row.lag is None else human.count(row.lag)
    lost = human.count(row.lost) if row.lost else ""
    return [row.topic, str(row.partition), str(row.offset), lag, human.rate(row.per_s, 1), lost]


def _group_cells(group: GroupPlace) -> list[str]:
    there = "-" if group.at_target is None else str(group.at_target)
    again = "active there" if group.is_active else f"<= {human.count(group.again_max)}" if group.again_max else "0"
    return [group.group, group.topic, str(group.partition), str(group.at_source), there, again]
