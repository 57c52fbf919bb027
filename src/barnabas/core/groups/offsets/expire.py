"""When committed offsets are forgotten (KIP-211), and groups with them.

| the group | an offset expires `offsets.retention.minutes` after |
|---|---|
| has no members | it became empty (classic with members once), or the commit (simple and consumer groups) |
| has members | the commit, and only if no member reads the topic |

A commit that brought its own retention time (OffsetCommit 2-4) expires when that says. A group without members and
without offsets is deleted. Offsets of a deleted topic go at once: see stale.py.
"""

from functools import partial

from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.offsets.delete import forget
from barnabas.core.groups.records.offset_commit import NO_EXPIRY, CommittedOffset
from barnabas.core.groups.shard_state import Group, ShardState

_CHECK_KEY = ("expiry",)
_STEP_OFFSETS = 2_000  # looked at in one step, about 10 ms


def arm_expiry(world: ShardState) -> None:
    interval_ms = world.config.offsets_retention_check_interval_ms
    world.timers.set(_CHECK_KEY, world.now_ms + interval_ms, partial(check_expiry, world))


def check_expiry(world: ShardState) -> None:
    _look_through(world, [(group_id, None) for group_id in reversed(world.groups)], world.wall.believed_ms())


def _look_through(world: ShardState, left: list[tuple[str, str | None]], now_ms: int) -> None:
    """Look at groups (topic None) and topics of groups from the end of the list, as many as one step may take.

    A million offsets take seconds: the rest waits for a timer that is due at once, and requests are served in between.
    """
    looked = 0
    while left and looked < _STEP_OFFSETS:
        group_id, topic = left.pop()
        group = world.groups.get(group_id)
        if group is None:
            continue  # gone since the first step
        if topic is not None:
            looked += _expire(world, group, topic, now_ms)
            if left and left[-1][0] == group_id:
                continue
        elif topics := world.offsets.topics_of(group_id):
            left.extend((group_id, name) for name in reversed(topics))
            continue
        looked += 1
        if group.is_empty and not group.has_classic_members and not world.has_offsets(group_id):
            group.bury(world)
    if left:
        world.timers.set(_CHECK_KEY, world.now_ms + 1, partial(_look_through, world, left, now_ms))
    else:
        arm_expiry(world)


def _expire(world: ShardState, group: Group, topic: str, now_ms: int) -> int:
    """Forget the offsets of one topic that have expired; gives how many were looked at."""
    numbers = world.offsets.partitions_of(group.group_id, topic)
    if not group.is_subscribed_to(topic):
        for number in numbers:
            kept = world.offsets.get(group.group_id, topic, number)
            if kept is not None and _is_expired(world, group, kept, now_ms):
                forget(world, group.group_id, topic, number)
    return len(numbers)


def _is_expired(world: ShardState, group: Group, kept: CommittedOffset, now_ms: int) -> bool:
    """Of a topic that no member is known to read."""
    since_ms = kept.commit_timestamp_ms
    if isinstance(group, ClassicGroup) and group.protocol_type is not None:
        if group.is_empty:
            since_ms = group.state_timestamp_ms if group.state_timestamp_ms >= 0 else since_ms
        elif group.state is not ClassicState.STABLE or not group.uses_consumer_protocol:
            return False  # what the members read is not known, or not known yet
    if kept.expire_timestamp_ms != NO_EXPIRY:
        return now_ms >= kept.expire_timestamp_ms
    return now_ms - since_ms >= world.config.offsets_retention_ms
