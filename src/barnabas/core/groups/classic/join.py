"""JoinGroup (0-9): into a classic group, or back into it.

| version | added |
|---|---|
| 1 | a rebalance timeout of its own (before: the session timeout) |
| 4 | a new dynamic member is first given its id, and joins with it (KIP-394) |
| 5 | static members (KIP-345) |
| 7 | protocol type and name in the answer may be null |
| 8 | a reason, for the log |
| 9 | `skip_assignment`: a returning static leader leads again without assigning (KIP-814) |

The answer is parked until the join barrier opens, except where nothing changes for the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import RequestInfo, Token
from barnabas.core.groups.classic.answers import join_answer, join_refusal, joined_members, sync_refusal
from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.classic.member import ClassicMember, Protocols
from barnabas.core.groups.classic.rebalance import (
    arm_new_member,
    arm_session,
    heard_from,
    persist,
    prepare,
    rebalance_or_complete,
    session_key,
    wait_for_more,
)
from barnabas.core.groups.shard_state import ShardState, require_group_id
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import GROUP_PENDING_MEMBERS_MAX

if TYPE_CHECKING:
    from barnabas.wire.messages import JoinGroupRequest, JoinGroupResponseBody

_MEMBER_ID_REQUIRED_SINCE = 4
_SKIP_ASSIGNMENT_SINCE = 9


@dataclass(frozen=True, slots=True)
class Join:
    """A JoinGroup request, the differences between its versions evened out."""

    group_id: str
    member_id: str
    instance_id: str | None
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    client_id: str
    client_host: str
    version: int
    token: Token[JoinGroupResponseBody]

    @classmethod
    def read(cls, request: JoinGroupRequest, info: RequestInfo, token: Token[JoinGroupResponseBody]) -> Join:
        version = info.api_version
        return cls(
            require_group_id(request.group_id),
            request.member_id,
            request.group_instance_id,
            request.protocol_type,
            tuple((protocol.name, bytes(protocol.metadata)) for protocol in request.protocols),
            request.session_timeout_ms,
            request.rebalance_timeout_ms if version >= 1 else request.session_timeout_ms,
            info.client_id,
            info.shown_host,
            version,
            token,
        )


def check_session_timeout(world: ShardState, join: Join) -> None:
    low, high = world.config.group_min_session_timeout_ms, world.config.group_max_session_timeout_ms
    if not low <= join.session_timeout_ms <= high:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT, f"the session timeout must be {low} to {high} ms")


def check_new_classic(join: Join) -> None:
    """What can be wrong with a join before there is a group."""
    if join.member_id:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"there is no group {join.group_id!r}")
    if not join.protocol_type or not join.protocols:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "a member needs a protocol type and a protocol")


def join_classic(world: ShardState, group: ClassicGroup | None, join: Join) -> None:
    """The entrance; `group` is None when there is no group of that name yet."""
    is_created = group is None
    if group is None:
        check_new_classic(join)
        group = ClassicGroup(join.group_id, world.wall.stamp_ms)
    if not _has_room(world, group, join.member_id):
        group.pending_join.discard(join.member_id)
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"group {join.group_id!r} is full")
    if not group.supports(join.protocol_type, join.protocols):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"group {join.group_id!r} has no protocol in common")
    if is_created:
        world.groups[join.group_id] = group
        persist(world, group)
    if not join.member_id:
        _join_as_new(world, group, join)
    else:
        _join_as_known(world, group, join)


def _has_room(world: ShardState, group: ClassicGroup, member_id: str) -> bool:
    size_max = world.config.group_max_size
    if group.is_empty:
        return True
    if group.state is ClassicState.PREPARING:
        # Those who have joined this round are in; the rest compete for the places that are left.
        member = group.members.get(member_id)
        if member is not None and member.join_token is not None:
            return True
        return sum(other.join_token is not None for other in group.members.values()) < size_max
    return member_id in group.members or len(group.members) < size_max


def _join_as_new(world: ShardState, group: ClassicGroup, join: Join) -> None:
    member_id = f"{join.client_id if join.instance_id is None else join.instance_id}-{world.random_uuid()}"
    if join.instance_id is not None:
        if join.instance_id in group.static_members:
            _return_static(world, group, join, member_id)
        else:
            _add(world, group, join, member_id)
    elif join.version >= _MEMBER_ID_REQUIRED_SINCE:
        if len(group.pending_join) >= GROUP_PENDING_MEMBERS_MAX:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, "too many members are about to join")
        group.pending_join.add(member_id)
        arm_session(world, group, member_id, join.session_timeout_ms)
        if group.is_initial_rebalance:
            wait_for_more(world, group)
        world.reply(join.token, join_refusal(ErrorCode.MEMBER_ID_REQUIRED, member_id, join.version))
    else:
        _add(world, group, join, member_id)


def _join_as_known(world: ShardState, group: ClassicGroup, join: Join) -> None:
    if join.instance_id is None and join.member_id in group.pending_join:
        _add(world, group, join, join.member_id)
        return
    member = group.known_member(join.member_id, join.instance_id)
    changed = member.protocols != join.protocols
    if group.state is ClassicState.PREPARING:
        _update(world, group, member, join)
        rebalance_or_complete(world, group)
    elif group.state is ClassicState.COMPLETING:
        if changed:
            _update(world, group, member, join)
            prepare(world, group)
        else:  # its answer was lost on the way: say it again
            heard_from(world, group, member)
            world.reply(join.token, join_answer(group, member))
    elif group.state is ClassicState.STABLE:
        if changed or member.member_id == group.leader_id:
            # A leader that joins again asks for a rebalance: it alone sees new topics and partitions.
            _update(world, group, member, join)
            prepare(world, group)
        else:
            heard_from(world, group, member)
            world.reply(join.token, join_answer(group, member))
    else:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {group.group_id!r} is empty")


def _add(world: ShardState, group: ClassicGroup, join: Join, member_id: str) -> None:
    member = ClassicMember(
        member_id,
        join.instance_id,
        join.client_id,
        join.client_host,
        join.rebalance_timeout_ms,
        join.session_timeout_ms,
        join.protocol_type,
        join.protocols,
        join_token=join.token,
    )
    group.add(member)
    group.read_topics(member)
    arm_new_member(world, group, member)
    if group.is_initial_rebalance:
        wait_for_more(world, group)
    rebalance_or_complete(world, group)


def _update(world: ShardState, group: ClassicGroup, member: ClassicMember, join: Join) -> None:
    if member.join_token is not None:
        # A second JoinGroup of the same member: the first one's caller has gone, but it gets its answer.
        refusal = join_refusal(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id, join.version)
        world.reply(member.join_token, refusal, after_commit=False)
    member.join_token = join.token
    member.protocols = join.protocols
    group.read_topics(member)
    member.rebalance_timeout_ms = join.rebalance_timeout_ms
    member.session_timeout_ms = join.session_timeout_ms
    member.client_id, member.client_host = join.client_id, join.client_host


def _return_static(world: ShardState, group: ClassicGroup, join: Join, new_member_id: str) -> None:
    """A static member starts again within its session: it gets its place back, mostly without a rebalance."""
    assert join.instance_id is not None
    leader_before = group.leader_id or ""
    old_member_id = group.static_members[join.instance_id]
    member = group.replace_static(join.instance_id, new_member_id)
    world.timers.cancel(session_key(group.group_id, old_member_id))
    fenced = ErrorCode.FENCED_INSTANCE_ID
    if member.join_token is not None:
        world.reply(member.join_token, join_refusal(fenced, old_member_id, join.version), after_commit=False)
    if member.sync_token is not None:
        world.reply(member.sync_token, sync_refusal(fenced), after_commit=False)
    member.join_token = member.sync_token = None
    _update(world, group, member, join)
    heard_from(world, group, member)
    if group.state is ClassicState.STABLE and group.select_protocol() == group.protocol_name:
        member.join_token = None
        persist(world, group)  # under its new id, so that another coordinator knows it too
        world.reply(join.token, _returned_answer(group, member, leader_before, join.version))
    elif group.state is ClassicState.STABLE or group.state is ClassicState.COMPLETING:
        prepare(world, group)
    else:
        rebalance_or_complete(world, group)


def _returned_answer(
    group: ClassicGroup, member: ClassicMember, leader_before: str, version: int
) -> JoinGroupResponseBody:
    answer = join_answer(group, member)
    if version >= _SKIP_ASSIGNMENT_SINCE:
        answer["skip_assignment"] = member.member_id == group.leader_id
        answer["members"] = joined_members(group) if answer["skip_assignment"] else []
    else:
        # Older clients that see themselves as leader would assign; naming the former id keeps them a follower.
        answer["leader"] = leader_before
        answer["members"] = []
    return answer
