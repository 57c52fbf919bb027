"""`barnabas group`: consumer groups, how far each has read, how far it is behind, and moving it.

Lag is told twice: in records (how much work is left) and in time (how long ago the next unread record was written).
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human, moments
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.link import admin, no_topic
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm
from barnabas.cli.common.screen import Column, emit_json, facts, note, outcome, paint, say, table

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin
    from barnabas.client.admin.descriptions import GroupDescription, GroupInfo, GroupPartition, OffsetReset

app = typer.Typer(help="Show consumer groups and their lag; move and delete them.", no_args_is_help=True)

_LAGS_MAX = 1_000  # of so many groups the lag is asked; a list of more is for programs

Group = Annotated[str, typer.Argument(metavar="GROUP", help="The group's name.")]


@app.command("list")
def list_groups(as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List the consumer groups and their lag.

    Lag is the number of records that a group has yet to read; of connectors the rate is told too.

    \b
    Example:
      barnabas group list
      barnabas group list --json | jq -r '.[] | select(.state=="Empty") | .name'
    """
    with admin(bootstrap) as cluster:
        groups = cluster.groups()
        lags = cluster.group_lags([each.name for each in groups[:_LAGS_MAX]])
    rates, behind = _connectors(bootstrap, [each.name for each in groups])
    lags = {**behind, **lags}
    if as_json:
        emit_json([_listed(each, lags, rates) for each in groups])
    elif not groups:
        say("no groups yet. Make one: barnabas consume TOPIC --group NAME")
    else:
        columns = [
            Column("group", flexible=True, style="bold"), Column("state"), Column("protocol"), Column("lag", right=True)
        ]  # fmt: skip
        rows = [
            [each.name, each.state, each.protocol, human.count(lags[each.name]) if each.name in lags else "-"]
            for each in groups
        ]
        if rates:
            columns.append(Column("records/s", right=True))
            for row in rows:
                row.append(human.rate(rates[row[0]], 1) if row[0] in rates else "-")
        table(columns, rows)


def _listed(group: GroupInfo, lags: dict[str, int], rates: dict[str, float]) -> dict[str, object]:
    from dataclasses import asdict

    return {**asdict(group), "lag": lags.get(group.name), "records_per_s": rates.get(group.name)}


def _connectors(bootstrap: str, names: list[str]) -> tuple[dict[str, float], dict[str, int]]:
    """What connectors move, and how far sources are behind, by their group: their workers tell it."""
    from barnabas.connect.definition.definition import GROUP_PREFIX

    if not any(name.startswith(GROUP_PREFIX) for name in names):
        return {}, {}
    from barnabas.connect.cluster.connection import Cluster
    from barnabas.connect.cluster.status import read_all

    rates: dict[str, float] = {}
    behind: dict[str, int] = {}
    for each in read_all(Cluster(bootstrap)):
        group = GROUP_PREFIX + each.connector
        if each.is_silent:
            continue
        rates[group] = rates.get(group, 0.0) + each.records_per_s
        if each.behind_records is not None:
            behind[group] = behind.get(group, 0) + each.behind_records
    return rates, behind


@app.command("describe")
def describe(group: Group, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Show a group's members, its place and its lag.

    Lag is told in records, and in time: how long ago the next unread record was written.

    \b
    Example:
      barnabas group describe billing
      barnabas group describe billing --json | jq .partitions
    """
    with admin(bootstrap) as cluster:
        found = _described(cluster, group)
    if as_json:
        emit_json(found)
        return
    node = found.coordinator
    facts(
        [
            ("group", found.name),
            ("state", found.state),
            ("protocol", f"{found.protocol} ({found.assignor})" if found.assignor else found.protocol),
            ("coordinator", f"node {node.id} at {node.host}:{node.port}" if node is not None else "none"),
            ("members", human.count(len(found.members))),
            ("lag", _total(found)),
        ]
    )
    if not found.partitions:
        return
    say()
    columns = (
        Column("topic", flexible=True, style="bold"), Column("partition", True), Column("committed", True),
        Column("end", True), Column("lag", True), Column("behind", True), Column("member", flexible=True),
    )  # fmt: skip
    clients = {member.id: f"{member.instance_id or member.client_id}@{member.host}" for member in found.members}
    table(columns, (_row(part, clients) for part in found.partitions))


def _total(found: GroupDescription) -> str:
    if not found.partitions:
        return "nothing is committed"
    told = human.plural(found.lag_records, "record")
    if found.lag_seconds is not None and found.lag_records:
        told += f", {_behind(found.lag_seconds)}"
    unread = [part for part in found.partitions if part.committed is None and part.end]
    if unread:  # where it begins there is the reader's own choice (auto.offset.reset), so they are not counted in
        told += f"; nothing is committed in {human.plural(len(unread), 'more partition')}"
    return told


def _row(part: GroupPartition, clients: dict[str, str]) -> list[str]:
    def number(value: int | None) -> str:
        return "-" if value is None else human.count(value)

    behind = "-" if part.lag_seconds is None else "0 s" if not part.lag_records else human.duration(part.lag_seconds)
    member = clients.get(part.member or "", "-")
    return [
        part.topic, str(part.partition), number(part.committed), number(part.end),
        number(part.lag_records), behind, member,
    ]  # fmt: skip


def _behind(seconds: float) -> str:
    return f"{human.duration(seconds)} behind"


@app.command("reset")
def reset(
    group: Group,
    topic: Annotated[str, typer.Option("--topic", "-t", metavar="TOPIC", help="The topic to move in.")],
    to: Annotated[str, typer.Option("--to", metavar="PLACE", help=f"{moments.HELP}; +N or by:-N moves by records.")],
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", metavar="N", help="Only this one; may be repeated.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Show what would change, and change nothing.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Move a group to another place in a topic. Its members must be stopped.

    \b
    Example:
      barnabas group reset billing --topic views --to beginning --dry-run
      barnabas group reset billing --topic views --to '2h ago' --yes
      barnabas group reset billing --topic views --to 1200 --partition 0 --yes
    """
    with admin(bootstrap) as cluster:
        try:
            plan = _reset(cluster, group, topic, to, partition, dry_run=True, bootstrap=bootstrap)
            if not dry_run:
                confirm(f"Move group {group} in {human.plural(len(plan), 'partition')} of {topic}?", yes)
                plan = _reset(cluster, group, topic, to, partition, dry_run=False, bootstrap=bootstrap)
        except _not_empty():
            raise Failure(f"group {group!r} has live members", "Stop them first, then move the group.") from None
        except _unknown_topic():
            raise _no_such_place(cluster, topic) from None
    if as_json:
        emit_json(plan)
        return
    if all(each.before is None for each in plan):
        note(f"group {group} had committed nothing in {topic} so far")
    columns = (Column("topic", style="bold"), Column("partition", True), Column("before", True), Column("after", True))
    table(
        columns,
        (
            [each.topic, str(each.partition), "-" if each.before is None else f"{each.before:,}", f"{each.after:,}"]
            for each in plan
        ),
    )
    if dry_run:
        say(paint("nothing was changed; leave out --dry-run to do it", "dim"))


def _reset(
    cluster: Admin, group: str, topic: str, to: str, partition: list[int] | None, *, dry_run: bool, bootstrap: str
) -> list[OffsetReset]:
    target: str | int | datetime
    words = to.strip()
    if words.startswith("+") and words[1:].isdigit():
        target = words
    elif words.startswith("by:") and words[3:].lstrip("+-").isdigit():
        target = words[3:] if words[3:4] in ("+", "-") else f"+{words[3:]}"
    else:
        place = _place(words)
        if place.kind == "tail":
            return _reset_to_tail(cluster, group, topic, place.value, partition, dry_run=dry_run, bootstrap=bootstrap)
        target = {"beginning": "earliest", "end": "latest"}.get(place.kind, place.value)
        if place.kind == "time":
            target = datetime.fromtimestamp(place.value / 1000).astimezone()
    return cluster.reset_group(group, topic, target, dry_run=dry_run, partitions=partition)


def _reset_to_tail(
    cluster: Admin, group: str, topic: str, records: int, partition: list[int] | None, *, dry_run: bool, bootstrap: str
) -> list[OffsetReset]:
    """So many records before the end: another offset in each partition."""
    from barnabas.cli.consume.reading import offsets

    indexes = partition or [part.index for part in cluster.describe_topic(topic).partitions]
    places = offsets(bootstrap, topic, indexes, moments.Position("tail", records))
    moved = [cluster.reset_group(group, topic, at, dry_run=dry_run, partitions=[i]) for i, at in sorted(places.items())]
    return [each for part in moved for each in part]


def _place(text: str) -> moments.Position:
    import time

    try:
        return moments.parse(text, int(time.time() * 1000))
    except ValueError as error:
        raise usage(f"--to: {error}") from None


@app.command("delete")
def delete(group: Group, yes: Yes = False, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Delete a group and its committed offsets. Its members must be stopped.

    \b
    Example:
      barnabas group delete billing --yes
    """
    with admin(bootstrap) as cluster:
        _described(cluster, group)
        confirm(f"Delete group {group} and its committed offsets?", yes)
        try:
            cluster.delete_group(group)
        except _not_empty():
            raise Failure(f"group {group!r} has live members", "Stop them first, then delete it.") from None
    outcome(as_json, {"group": group, "deleted": True}, f"deleted group {group}")


def _not_empty() -> type[Exception]:
    from barnabas.client.errors import GroupNotEmpty

    return GroupNotEmpty


def _unknown_topic() -> type[Exception]:
    from barnabas.client.errors import UnknownTopic

    return UnknownTopic


def _no_such_place(cluster: Admin, topic: str) -> Failure:
    """The topic is not there, or only the partition that was named."""
    names = [each.name for each in cluster.topics()]
    if topic in names:
        return Failure(f"{topic} has no such partition", f"See them: barnabas topic describe {topic}")
    return no_topic(topic, names, to_change=True)


def _described(cluster: Admin, group: str) -> GroupDescription:
    import difflib

    from barnabas.client.errors import UnknownGroup

    try:
        return cluster.describe_group(group)
    except UnknownGroup:
        near = difflib.get_close_matches(group, [each.name for each in cluster.groups()], n=1)
        way_out = f"Did you mean {near[0]!r}?" if near else "See them: barnabas group list"
        raise Failure(f"there is no group {group!r}", way_out) from None
