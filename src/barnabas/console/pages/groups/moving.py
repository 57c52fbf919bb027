"""A reset of a group: a preview that says what would be read again or skipped, and doing exactly that.

The page sends back the moves that it showed. They are done only while they are still what the preview was about: the
group has no members, and every partition is committed where it was. Offsets are committed as a consumer that is in no
group does (generation -1, no member id), which a coordinator refuses while the group has members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.clusters import members, reading
from barnabas.console.clusters.facts import Group, TopicPartition
from barnabas.console.clusters.write_times import read_times
from barnabas.console.pages.groups import plan
from barnabas.console.pages.groups.listing import find
from barnabas.console.pages.groups.removing import ask_coordinator
from barnabas.console.problems import NotFound, Problem, refused
from barnabas.console.web.bodies import Int32, Int64, Offset
from barnabas.console.web.calls import Call
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import OFFSET_COMMIT

if TYPE_CHECKING:
    from barnabas.wire.messages import OffsetCommitResponse

MOVES_MAX = 10_000  # partitions in one reset
_TIMES_MAX = 400
_BY_NAME = 9  # OffsetCommit; later versions name topics by their ids
_ASK_SECONDS = 10.0


class Moved(msgspec.Struct):
    topic: str
    partition: Int32
    before: Int64 | None
    after: Offset


class Asked(msgspec.Struct):
    moves: list[Moved]


async def preview(call: Call) -> object:
    group, facts = await find(call), call.facts
    refuse_spark_and_share(call, group)
    way, value = call.text("to", plan.EARLIEST), call.number("value", 0, -(2**62), 2**62)
    if way not in plan.WAYS:
        raise Problem(f"a group is moved to {', '.join(plan.WAYS)}, not {way[:50]!r}")
    partitions = _wanted(call)
    wanted = [facts.topics[name] for name in {topic for topic, _ in partitions}]
    before = (await reading.read_committed_offsets(call.nodes, [group], _ASK_SECONDS)).offsets.get(group.name, {})
    starts = await reading.read_offsets(call.nodes, wanted, reading.EARLIEST)
    ends = await reading.read_offsets(call.nodes, wanted, reading.LATEST)
    at_time = await reading.read_offsets(call.nodes, wanted, value) if way == plan.TIME else {}
    found = plan.moves(partitions, way, value, before, starts, ends, at_time)
    targets = {(each.topic, each.partition): each.after for each in found[:_TIMES_MAX]}
    times = await read_times(call.nodes, facts.topics, targets, starts, ends)
    return {
        "group": group.name,
        "members": await _members(call, group),
        "moves": [
            {**each._asdict(), "again": each.again, "skipped": each.skipped,
             "from_ms": times.get((each.topic, each.partition))}
            for each in found
        ],
        "again": sum(each.again for each in found),
        "skipped": sum(each.skipped for each in found),
    }  # fmt: skip


def _wanted(call: Call) -> list[TopicPartition]:
    topic = call.text("topic")
    known = call.facts.topics.get(topic)
    if known is None:
        raise NotFound(f"there is no topic {topic!r}")
    indexes = {each.index for each in known.partitions}
    told = call.texts("partition")
    if not told:
        return [(topic, index) for index in sorted(indexes)]
    unknown = [each for each in told if not each.isdecimal() or int(each) not in indexes]
    if unknown:
        raise Problem(f"{topic} has no partition {unknown[0][:20]!r}", f"It has 0 to {len(indexes) - 1}.")
    return [(topic, int(each)) for each in told]


async def _members(call: Call, group: Group) -> int:
    described = (await members.describe(call.nodes, [group])).get(group.name)
    return 0 if described is None else len(described.members)


def refuse_spark_and_share(call: Call, group: Group) -> None:
    if group.name in call.facts.spark:
        raise Problem(
            "a Spark query goes on from its checkpoint, not from its group",
            "Start it over with --fresh, or with another checkpoint and startingOffsets.",
        )
    if group.kind not in ("classic", "consumer"):
        raise Problem(f"the console cannot move a {group.kind} group", f"kafka-{group.kind}-groups.sh can.")


async def reset(call: Call) -> object:
    group, asked = await find(call), await call.body(Asked)
    refuse_spark_and_share(call, group)
    if not 0 < len(asked.moves) <= MOVES_MAX:
        raise Problem(f"a reset has 1 to {MOVES_MAX} partitions, not {len(asked.moves)}")
    call.names += [group.name] + [
        f"{each.topic}-{each.partition}: {each.before} -> {each.after}" for each in asked.moves
    ]
    if await _members(call, group):
        raise still_has_members(group.name)
    now = (await reading.read_committed_offsets(call.nodes, [group], _ASK_SECONDS)).offsets.get(group.name, {})
    moved = [each for each in asked.moves if now.get((each.topic, each.partition)) != each.before]
    if moved:
        place = f"{moved[0].topic}-{moved[0].partition}"
        raise Problem(
            f"the group has moved in {place} since the preview", "Nothing was changed: look at a new preview.", 409
        )
    body = {
        "group_id": group.name,
        "generation_id_or_member_epoch": -1,
        "member_id": "",
        "group_instance_id": None,
        "retention_time_ms": -1,
        "topics": _topics(asked.moves),
    }
    answer: OffsetCommitResponse = await ask_coordinator(call, group.name, OFFSET_COMMIT, body, _BY_NAME, _first_error)
    if code := _first_error(answer):
        raise still_has_members(group.name) if code in _HAS_MEMBERS else refused(code, f"move {group.name}")
    call.facts.committed.setdefault(group.name, {}).update(
        {(each.topic, each.partition): each.after for each in asked.moves}
    )
    return {"moved": len(asked.moves)}


_HAS_MEMBERS = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.STALE_MEMBER_EPOCH)


def still_has_members(group: str) -> Problem:
    return Problem(f"{group} has members", "Stop the programs that read as this group, then try again.", 409)


def _first_error(answer: OffsetCommitResponse) -> int:
    return next((each.error_code for topic in answer.topics for each in topic.partitions if each.error_code), 0)


def _topics(moves: Sequence[Moved]) -> list[dict[str, object]]:
    topics: dict[str, list[dict[str, object]]] = {}
    for each in moves:
        topics.setdefault(each.topic, []).append(
            {
                "partition_index": each.partition,
                "committed_offset": each.after,
                "committed_leader_epoch": -1,
                "committed_metadata": "",
            }
        )
    return [{"name": name, "partitions": partitions} for name, partitions in topics.items()]
