"""What moves a classic group from state to state: the join barrier, the sync barrier, and their timeouts.

A rebalance begins when the membership or a subscription changes. It ends its first half when every member has joined
again, or when the slowest rebalance timeout has passed (who has not come by then is out), and its second half when the
leader's assignment arrives. Static members (KIP-345) are not thrown out by the first half: only their session is.
"""

from functools import partial

from barnabas.core.groups.classic.answers import join_answer, join_refusal, sync_answer, sync_refusal
from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.classic.member import ClassicMember
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS


def session_key(group_id: str, member_id: str) -> tuple[str, ...]:
    return ("session", group_id, member_id)


def join_key(group_id: str) -> tuple[str, ...]:
    return ("join", group_id)


def sync_key(group_id: str) -> tuple[str, ...]:
    return ("sync", group_id)


def arm_session(world: ShardState, group: ClassicGroup, member_id: str, timeout_ms: int) -> None:
    world.timers.set(
        session_key(group.group_id, member_id),
        world.now_ms + timeout_ms,
        partial(_session_expired, world, group.group_id, member_id),
    )


def heard_from(world: ShardState, group: ClassicGroup, member: ClassicMember) -> None:
    arm_session(world, group, member.member_id, member.session_timeout_ms)


def persist(world: ShardState, group: ClassicGroup) -> None:
    world.write(RecordKey(Kind.CLASSIC_GROUP, group.group_id), group.to_value().encode())


# --- the first half: joining -----------------------------------------------------------------------------------------


def rebalance_or_complete(world: ShardState, group: ClassicGroup) -> None:
    """Something changed: begin a rebalance, or see whether the one under way can end."""
    if group.state is ClassicState.PREPARING:
        complete_if_all_joined(world, group)
    else:
        prepare(world, group)


def prepare(world: ShardState, group: ClassicGroup) -> None:
    if group.state is ClassicState.COMPLETING:
        refuse_parked_syncs(world, group, ErrorCode.REBALANCE_IN_PROGRESS)
    world.timers.cancel(sync_key(group.group_id))
    group.pending_sync.clear()
    first = group.is_empty
    group.move_to(ClassicState.PREPARING, world.wall.stamp_ms)
    if first:
        ceiling_ms = min(world.config.group_initial_rebalance_delay_ms, group.rebalance_timeout_ms)
        group.initial_deadline_ms = world.now_ms + ceiling_ms
        wait_for_more(world, group)
    elif group.all_joined:
        complete(world, group)
    else:
        _arm_join(world, group, world.now_ms + group.rebalance_timeout_ms)


def wait_for_more(world: ShardState, group: ClassicGroup) -> None:
    """Give members that start together the time to arrive: each arrival extends the wait, up to its ceiling."""
    quiet_until_ms = world.now_ms + world.config.initial_rebalance_quiet_ms
    _arm_join(world, group, min(quiet_until_ms, group.initial_deadline_ms))


def _arm_join(world: ShardState, group: ClassicGroup, deadline_ms: int) -> None:
    world.timers.set(join_key(group.group_id), deadline_ms, partial(_join_expired, world, group.group_id))


def _join_expired(world: ShardState, group_id: str) -> None:
    group = world.groups.get(group_id)
    if not isinstance(group, ClassicGroup) or group.state is not ClassicState.PREPARING:
        return
    if group.is_initial_rebalance and group.pending_join and world.now_ms < group.initial_deadline_ms:
        wait_for_more(world, group)  # an id was handed out a moment ago; its owner is on the way
        return
    complete(world, group)


def complete_if_all_joined(world: ShardState, group: ClassicGroup) -> None:
    # The first rebalance of a group waits out its window even when all known members are there.
    if group.state is ClassicState.PREPARING and not group.is_initial_rebalance and group.all_joined:
        complete(world, group)


def complete(world: ShardState, group: ClassicGroup) -> None:
    world.timers.cancel(join_key(group.group_id))
    for member in [m for m in group.members.values() if m.join_token is None and not m.is_static]:
        drop_member(world, group, member)
    if group.members and not group.elect_joined_leader():
        # Only static members, and none of them is back yet: wait on, their sessions decide.
        _arm_join(world, group, world.now_ms + group.rebalance_timeout_ms)
        return
    group.generation += 1
    group.pending_sync.clear()
    if not group.members:
        group.protocol_name = None
        group.compute_subscribed_topics()
        group.move_to(ClassicState.EMPTY, world.wall.stamp_ms)
        persist(world, group)
        return
    group.protocol_name = group.select_protocol()
    group.compute_subscribed_topics()
    group.move_to(ClassicState.COMPLETING, world.wall.stamp_ms)
    for member in group.members.values():
        if member.join_token is not None:
            world.reply(member.join_token, join_answer(group, member))
            member.join_token = None
        member.is_new = False
        group.pending_sync.add(member.member_id)
        heard_from(world, group, member)
    world.timers.set(
        sync_key(group.group_id),
        world.now_ms + group.rebalance_timeout_ms,
        partial(_sync_expired, world, group.group_id, group.generation),
    )


# --- the second half: the assignment ---------------------------------------------------------------------------------


def spread_assignment(world: ShardState, group: ClassicGroup, assignments: dict[str, bytes]) -> None:
    """The leader has spoken: write the generation down, then everybody who waits is told its part."""
    for member in group.members.values():
        member.assignment = assignments.get(member.member_id, b"")
    group.move_to(ClassicState.STABLE, world.wall.stamp_ms)
    persist(world, group)
    for member in group.members.values():
        if member.sync_token is not None:
            world.reply(member.sync_token, sync_answer(group, member))
            member.sync_token = None
            heard_from(world, group, member)


def synced(world: ShardState, group: ClassicGroup, member_id: str) -> None:
    group.pending_sync.discard(member_id)
    if not group.pending_sync:
        world.timers.cancel(sync_key(group.group_id))


def refuse_parked_syncs(world: ShardState, group: ClassicGroup, code: ErrorCode) -> None:
    for member in group.members.values():
        if member.sync_token is not None:
            world.reply(member.sync_token, sync_refusal(code), after_commit=False)
            member.sync_token = None
            heard_from(world, group, member)


def _sync_expired(world: ShardState, group_id: str, generation: int) -> None:
    group = world.groups.get(group_id)
    if not isinstance(group, ClassicGroup) or group.generation != generation or not group.pending_sync:
        return
    if group.state not in (ClassicState.COMPLETING, ClassicState.STABLE):
        return
    for member_id in list(group.pending_sync):
        drop_member(world, group, group.members[member_id])
    prepare(world, group)


# --- members that go -------------------------------------------------------------------------------------------------


def drop_member(world: ShardState, group: ClassicGroup, member: ClassicMember) -> None:
    """Out of the group; whatever it had parked is answered."""
    group.remove(member)
    world.timers.cancel(session_key(group.group_id, member.member_id))
    if member.join_token is not None:
        world.reply(member.join_token, join_refusal(ErrorCode.UNKNOWN_MEMBER_ID, member.member_id), after_commit=False)
        member.join_token = None
    if member.sync_token is not None:
        world.reply(member.sync_token, sync_refusal(ErrorCode.UNKNOWN_MEMBER_ID), after_commit=False)
        member.sync_token = None


def drop_pending(world: ShardState, group: ClassicGroup, member_id: str) -> None:
    group.pending_join.discard(member_id)
    world.timers.cancel(session_key(group.group_id, member_id))
    complete_if_all_joined(world, group)


def after_departure(world: ShardState, group: ClassicGroup) -> None:
    if group.state is ClassicState.PREPARING:
        complete_if_all_joined(world, group)
    elif not group.is_empty:
        prepare(world, group)


def _session_expired(world: ShardState, group_id: str, member_id: str) -> None:
    group = world.groups.get(group_id)
    if not isinstance(group, ClassicGroup):
        return
    if member_id in group.pending_join:
        drop_pending(world, group, member_id)
        return
    member = group.members.get(member_id)
    if member is None or (member.is_waiting and not member.is_new):
        return  # a parked request keeps the member alive; its answer starts the session anew
    drop_member(world, group, member)
    after_departure(world, group)


def arm_new_member(world: ShardState, group: ClassicGroup, member: ClassicMember) -> None:
    member.is_new = True
    arm_session(world, group, member.member_id, GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS)
