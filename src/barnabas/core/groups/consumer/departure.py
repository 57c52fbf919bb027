"""Members that leave a consumer group, and those that are put out: silent ones, and ones that will not give back.

| timer | set | when it fires |
|---|---|---|
| session | by every heartbeat | the member is gone |
| revoke | when the member is asked to give partitions back | it did not within its rebalance timeout: out |
| join, sync | for classic members, see migration/classic_members.py | the same |

Whoever goes frees its partitions at once and the group begins another epoch. A static member that leaves with epoch -2
says "I will be back": its place is kept until its session ends.
"""

from functools import partial
from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.member import STATIC_LEAVING_EPOCH, ConsumerMember, MemberState
from barnabas.core.groups.consumer.subscriptions import bump_epoch, update_regexes
from barnabas.core.groups.migration.downgrade import downgrade_if_possible
from barnabas.core.groups.records.assignments import CurrentAssignmentValue
from barnabas.core.groups.records.keys import Kind, RecordKey

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState

_MEMBER_TIMERS = ("session", "revoke", "join", "sync")
_MEMBER_KINDS = (Kind.CONSUMER_CURRENT_MEMBER, Kind.CONSUMER_TARGET_MEMBER, Kind.CONSUMER_MEMBER)


def arm(world: "ShardState", group: ConsumerGroup, member_id: str, timer: str, timeout_ms: int) -> None:
    action = partial(_expired, world, group.group_id, member_id)
    world.timers.set((timer, group.group_id, member_id), world.now_ms + timeout_ms, action)


def arm_session(world: "ShardState", group: ConsumerGroup, member: ConsumerMember) -> None:
    classic = member.facts.classic
    if classic is None:
        timeout_ms = world.config.consumer_session_timeout_ms(group.group_id)
    else:
        timeout_ms = classic.session_timeout_ms
    arm(world, group, member.member_id, "session", timeout_ms)


def arm_revocation(world: "ShardState", group: ConsumerGroup, member: ConsumerMember) -> None:
    """Give a member its rebalance timeout to give partitions back; call off the timer of one that has."""
    if member.place.state == MemberState.UNREVOKED_PARTITIONS:
        arm(world, group, member.member_id, "revoke", max(0, member.facts.rebalance_timeout_ms))
    else:
        world.timers.cancel(("revoke", group.group_id, member.member_id))


def cancel_timers(world: "ShardState", group_id: str, member_id: str) -> None:
    for timer in _MEMBER_TIMERS:
        world.timers.cancel((timer, group_id, member_id))


def erase(world: "ShardState", group: ConsumerGroup, member_id: str) -> None:
    """Take a member out of state and log, and nothing else."""
    cancel_timers(world, group.group_id, member_id)
    group.remove(member_id)
    for kind in _MEMBER_KINDS:
        world.tombstone(kind, group.group_id, member_id)


def put_out(world: "ShardState", group: ConsumerGroup, member_ids: list[str]) -> None:
    for member_id in member_ids:
        erase(world, group, member_id)
    if downgrade_if_possible(world, group):
        return
    update_regexes(world, group)
    bump_epoch(world, group)


def keep_place(world: "ShardState", group: ConsumerGroup, member: ConsumerMember) -> None:
    """A static member goes away for a moment: it owns what it had, and what it was giving back is free."""
    assigned = {topic_id: dict.fromkeys(epochs, 0) for topic_id, epochs in member.place.assigned.items()}
    place = CurrentAssignmentValue(STATIC_LEAVING_EPOCH, member.place.previous_epoch, MemberState.STABLE, assigned, {})
    gone = ConsumerMember(member.member_id, member.facts, place)
    group.put(gone)
    arm_revocation(world, group, gone)
    write_place(world, group, gone)


def write_place(world: "ShardState", group: ConsumerGroup, member: ConsumerMember) -> None:
    key = RecordKey(Kind.CONSUMER_CURRENT_MEMBER, group.group_id, member.member_id)
    world.write(key, member.place.encode())


def _expired(world: "ShardState", group_id: str, member_id: str) -> None:
    group = world.groups.get(group_id)
    if isinstance(group, ConsumerGroup) and member_id in group.members:
        put_out(world, group, [member_id])
