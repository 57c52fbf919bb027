"""The list of groups, and one group: its members, what each owns, and how far every partition is read."""

from __future__ import annotations

from barnabas.console.clusters import members, reading
from barnabas.console.clusters.facts import Facts, Group, TopicPartition
from barnabas.console.clusters.members import Described
from barnabas.console.problems import NotFound
from barnabas.console.web.calls import Call
from barnabas.link.codes import name_of

_FIRST_LOOK_SECONDS = 5.0
_ASK_SECONDS = 5.0
SPARK = "spark"


async def list_groups(call: Call) -> object:
    observer = call.connection.observer
    await observer.first_look(_FIRST_LOOK_SECONDS)
    facts = observer.facts
    return {"problem": facts.problem, "groups": [_row(facts, each) for each in facts.groups.values()]}


def kind_of(facts: Facts, group: Group) -> str:
    """A Spark query shows how far it is as a group that nobody joins."""
    return SPARK if group.name in facts.spark else group.kind


def _row(facts: Facts, group: Group) -> dict[str, object]:
    offsets, membership = facts.committed.get(group.name), facts.membership.get(group.name)
    topics = {topic for topic, _ in offsets or ()} | (membership.topics if membership is not None else set())
    has_members = group.state not in ("Empty", "Dead")
    return {
        "name": group.name,
        "kind": kind_of(facts, group),
        "state": group.state,
        "members": membership.members if membership is not None else None if has_members else 0,
        "topics": sorted(topics),
        "lag": facts.lag(group.name) if offsets else None,
        "seconds": facts.seconds(group.name),
    }


async def find(call: Call) -> Group:
    """The group as the last look saw it; one that has just been made is looked up."""
    name, facts = call.text("group"), call.facts
    found = facts.groups.get(name)
    if found is None:
        up = [each.id for each in facts.nodes.values() if not each.fenced]
        found = (await reading.read_groups(call.nodes, up)).get(name)
    if found is None:
        raise NotFound(f"there is no group {name!r}", "It may have been deleted, or its offsets have expired.")
    return found


async def one_group(call: Call) -> object:
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    facts, group = call.facts, await find(call)
    committed = await reading.read_committed_offsets(call.nodes, [group], _ASK_SECONDS)
    offsets = committed.offsets.get(group.name, {})
    described = (await members.describe(call.nodes, [group])).get(group.name)
    known = described if described is not None and not described.error else None
    state = known.state if known is not None else group.state
    return {
        "name": group.name,
        "kind": kind_of(facts, group),
        "state": state,
        "coordinator": group.coordinator,
        "protocol": group.protocol,
        "assignor": known.assignor if known is not None else "",
        "unknown_members": _why_unknown(group, described),
        "members": [
            {"id": each.id, "client_id": each.client_id, "host": each.host, "instance_id": each.instance_id,
             "partitions": each.partitions, "moving_to": each.moving_to}
            for each in (known.members if known is not None else ())
        ],
        "partitions": partitions_of(facts, offsets, known),
    }  # fmt: skip


def _why_unknown(group: Group, described: Described | None) -> str:
    """Why members are not shown; empty where they are."""
    if group.kind not in ("classic", "consumer"):
        return f"The console does not show members of a {group.kind} group yet: kafka-{group.kind}-groups.sh --describe"
    if described is None:
        return "The coordinator of the group does not answer, or does not know how to describe its members."
    return f"Its members cannot be shown: {described.message or name_of(described.error)}." if described.error else ""


def partitions_of(
    facts: Facts, offsets: dict[TopicPartition, int], described: Described | None
) -> list[dict[str, object]]:
    """Every partition of the topics that the group reads, those included in which nothing is committed."""
    owners = {
        partition: member.id for member in (described.members if described else ()) for partition in member.partitions
    }
    topics = {topic for topic, _ in [*offsets, *owners]}
    everything = {*offsets, *owners} | {
        (name, each.index) for name in topics if name in facts.topics for each in facts.topics[name].partitions
    }
    rows: list[dict[str, object]] = []
    for partition in sorted(everything):
        offset, end = offsets.get(partition), facts.ends.get(partition)
        rows.append(
            {
                "topic": partition[0],
                "partition": partition[1],
                "committed": offset,
                "start": facts.starts.get(partition),
                "end": end,
                "lag": None if offset is None or end is None else max(0, end - offset),
                "seconds": None if offset is None else facts.partition_seconds(partition, offset),
                "member": owners.get(partition),
            }
        )
    return rows
