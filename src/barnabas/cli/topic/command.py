"""`barnabas topic`: create, list, describe, change, grow and delete topics."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from barnabas.cli.common import human, moments
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.link import admin, no_topic
from barnabas.cli.common.linked import told_with_link
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Topic, Yes, confirm, pairs
from barnabas.cli.common.screen import Column, emit_json, facts, outcome, paint, say, table
from barnabas.cli.common.zone_settings import warn_of_zones

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin
    from barnabas.client.admin.descriptions import PartitionInfo, TopicDescription

app = typer.Typer(help="Create, list, describe, change, grow and delete topics.", no_args_is_help=True)

Sets = Annotated[
    list[str] | None,
    typer.Option("--set", "--config", "-s", metavar="NAME=VALUE", help="A setting by Kafka's name; may be repeated."),
]


@app.command("create")
def create(
    topic: Topic,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, metavar="N", help="How many; else the node's default.")
    ] = None,
    replication: Annotated[
        int | None, typer.Option("--replication", "-r", min=1, metavar="N", help="Replicas; else the node's default.")
    ] = None,
    sets: Sets = None,
    if_missing: Annotated[bool, typer.Option("--if-missing", help="Be content when it exists already.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Create a topic.

    Partitions are what consumers of a group share: as many can read side by side as there are partitions.

    \b
    Example:
      barnabas topic create views --partitions 6
      barnabas topic create members --set cleanup.policy=compact
    """
    from barnabas.client.errors import TopicExists

    settings = pairs(sets, "--set")
    with admin(bootstrap) as cluster:
        try:
            cluster.create_topic(topic, partitions, replication, settings)
        except TopicExists:
            if not if_missing:
                raise Failure(f"topic {topic!r} exists already", f"See it: barnabas topic describe {topic}") from None
            outcome(as_json, {"topic": topic, "created": False}, f"topic {topic} exists already")
            return
        warn_of_zones(cluster, settings)
    outcome(as_json, {"topic": topic, "created": True}, f"created topic {topic}")


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal", "-i", help="Kafka's own topics too.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """List the topics.

    \b
    Example:
      barnabas topic list
      barnabas topic list --json | jq -r '.[].name'
    """
    with admin(bootstrap) as cluster:
        topics = cluster.topics(internal)
    if as_json:
        emit_json(topics)
    elif not topics:
        say("no topics yet. Create one: barnabas topic create views")
    else:
        columns = (Column("topic", flexible=True, style="bold"), Column("partitions", True), Column("replicas", True))
        table(columns, ([each.name, str(each.partitions), str(each.replication)] for each in topics))


@app.command("describe")
def describe(
    topic: Topic,
    all_settings: Annotated[
        bool, typer.Option("--all", "-a", help="Every setting, not only the changed ones.")
    ] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show a topic's partitions, records and settings.

    Of the settings those that differ from the default; --all shows every one.

    \b
    Example:
      barnabas topic describe views
      barnabas topic describe views --all --json
    """
    with admin(bootstrap) as cluster:
        found = _described(cluster, topic)
    if as_json:
        emit_json(found)
        return
    known = [part.records for part in found.partitions]
    total = human.count(sum(count or 0 for count in known)) + (" or more" if None in known else "")
    facts(
        [
            ("topic", found.name),
            ("id", found.id),
            ("partitions", human.count(len(found.partitions))),
            ("replicas", human.count(found.replication)),
            ("records", total),
        ]
    )
    say()
    columns = (
        Column("partition", True), Column("leader", True), Column("replicas"), Column("in sync"),
        Column("first offset", True), Column("end offset", True), Column("records", True),
    )  # fmt: skip
    table(columns, (_partition_row(part) for part in found.partitions))
    _settings(found, all_settings)


def _partition_row(part: PartitionInfo) -> list[str]:
    def number(value: int | None) -> str:
        return "-" if value is None else human.count(value)

    replicas, in_sync = (",".join(map(str, nodes)) or "-" for nodes in (part.replicas, part.isr))
    leader = "none" if part.leader is None else str(part.leader)
    return [
        str(part.index), leader, replicas, in_sync,
        number(part.start_offset), number(part.end_offset), number(part.records),
    ]  # fmt: skip


def _settings(found: TopicDescription, everything: bool) -> None:
    from barnabas.cli.config.command import show

    changed = {name: value for name, value in found.configs.items() if everything or not value.is_default}
    say()
    if changed:
        show(changed)
    else:
        say(paint("every setting has its default (--all shows them)", "dim"))


@app.command("alter")
def alter(
    topic: Topic,
    sets: Sets = None,
    delete: Annotated[
        list[str] | None, typer.Option("--delete", "-d", metavar="NAME", help="Back to the default; may be repeated.")
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Change a topic's settings, at once and without a restart.

    \b
    Example:
      barnabas topic alter views --set retention.ms=3600000
      barnabas topic alter views --delete retention.ms
    """
    changes, back = pairs(sets, "--set"), delete or []
    if not changes and not back:
        raise usage("nothing to change", "Say --set name=value or --delete name.")
    with admin(bootstrap) as cluster:
        _existing(cluster, topic)
        if both := [name for name in back if name in changes]:
            raise usage(f"--set and --delete of {both[0]} at once", "Say one of them.")
        from barnabas.cli.config.command import refuse_unknown

        refuse_unknown((*changes, *back), cluster.configs("topic", topic), "topic")
        cluster.alter_configs("topic", topic, set=changes, delete=back)
        warn_of_zones(cluster, changes)
        now = cluster.configs("topic", topic) if as_json else {}
    if as_json:
        emit_json({name: now.get(name) for name in (*changes, *back)})
        return
    for name, value in changes.items():
        say(f"{topic}: {name} is now {value}")
    for name in back:
        say(f"{topic}: {name} has its default again")


@app.command("grow")
def grow(
    topic: Topic,
    partitions: Annotated[int, typer.Argument(metavar="PARTITIONS", min=1, help="How many it shall have in all.")],
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Give a topic more partitions.

    Records stay where they are; from now on a key may land in another partition than before. Partitions cannot be taken
    away again.

    \b
    Example:
      barnabas topic grow views 12
    """
    with admin(bootstrap) as cluster:
        before = _existing(cluster, topic)
        if partitions <= before:
            raise Failure(f"{topic} has {human.plural(before, 'partition')} already", "It can only grow.")
        with told_with_link(bootstrap, topic, f"grow topic {topic!r}"):
            cluster.grow_topic(topic, partitions)
    told = f"{topic} grew from {before} to {human.plural(partitions, 'partition')}"
    outcome(as_json, {"topic": topic, "before": before, "partitions": partitions}, told)


@app.command("delete")
def delete_topic(
    topic: Topic, yes: Yes = False, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> None:
    """Delete a topic and all its records, for good.

    \b
    Example:
      barnabas topic delete views --yes
    """
    with admin(bootstrap) as cluster:
        _existing(cluster, topic)
        confirm(f"Delete topic {topic} and all its records?", yes)
        with told_with_link(bootstrap, topic, f"delete topic {topic!r}"):
            cluster.delete_topic(topic)
    outcome(as_json, {"topic": topic, "deleted": True}, f"deleted topic {topic}")


@app.command("delete-records")
def delete_records(
    topic: Topic,
    before: Annotated[str, typer.Option("--before", metavar="WHERE", help=f"Up to here: {moments.HELP}.")],
    partition: Annotated[
        list[int] | None, typer.Option("--partition", min=0, metavar="N", help="Only this one; may be repeated.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Delete the oldest records of a topic, for good.

    Offsets do not change: the topic begins later than before.

    \b
    Example:
      barnabas topic delete-records views --before '7d ago'
      barnabas topic delete-records views --before end --yes
      barnabas topic delete-records views --before 1200 --partition 0 --yes
    """
    from barnabas.cli.consume.reading import offsets

    try:
        position = moments.parse(before, int(time.time() * 1000))
    except ValueError as error:
        raise usage(f"--before: {error}") from None
    with admin(bootstrap) as cluster:
        count = _existing(cluster, topic)
        chosen = partition or list(range(count))
        if wrong := [each for each in chosen if each >= count]:
            raise usage(f"{topic} has no partition {wrong[0]}", f"It has 0 to {count - 1}.")
        bound: int | datetime | Literal["end"] | dict[int, int]
        match position.kind:
            case "end":
                bound = "end"
            case "offset":
                bound = position.value
                if len(chosen) < count:
                    _refuse_beyond(topic, bound, offsets(bootstrap, topic, chosen, moments.END))
            case "tail":
                bound = offsets(bootstrap, topic, chosen, position)
            case "time":
                bound = datetime.fromtimestamp(position.value / 1000, UTC)
            case _:
                raise usage(f"--before {before!r}: nothing is older", "Give an offset, a time, or end.")
        confirm(f"Delete what is older than {before} from {human.plural(len(chosen), 'partition')} of {topic}?", yes)
        with told_with_link(bootstrap, topic, f"delete records of {topic!r}"):
            if isinstance(bound, dict) or (isinstance(bound, int) and len(chosen) == count):
                left = cluster.delete_records(topic, bound)
            else:
                left = cluster.delete_records(topic, dict.fromkeys(chosen, bound))
    begins = [{"topic": topic, "partition": index, "start_offset": offset} for index, offset in sorted(left.items())]
    outcome(as_json, begins, "\n".join(f"{topic}-{index} begins at {offset}" for index, offset in sorted(left.items())))


def _refuse_beyond(topic: str, before: int, ends: dict[int, int]) -> None:
    """For all partitions one offset means what each has of it; a partition that is named is to have it."""
    if short := [index for index, end in sorted(ends.items()) if end < before]:
        where = f"{topic}-{short[0]} ends at offset {ends[short[0]]}"
        raise usage(f"--before {before}: {where}", "For all that it has: --before end.")


def _existing(cluster: Admin, topic: str) -> int:
    """The number of partitions of a topic that must be there."""
    topics = {each.name: each.partitions for each in cluster.topics(internal=True)}
    if topic not in topics:
        raise no_topic(topic, list(topics), to_change=True)
    return topics[topic]


def _described(cluster: Admin, topic: str) -> TopicDescription:
    from barnabas.client.errors import UnknownTopic

    try:
        return cluster.describe_topic(topic)
    except UnknownTopic:
        raise no_topic(topic, [each.name for each in cluster.topics()]) from None
