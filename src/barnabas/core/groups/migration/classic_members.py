"""Members of the classic protocol inside a consumer group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

To such a member the group looks like a classic one it never leads: it joins, gets its assignment by the sync, and is
told to rejoin (REBALANCE_IN_PROGRESS) whenever there is a step to take: a new group epoch, partitions to give back, or
partitions it waited for that are free now. Its generation is its member epoch. Nothing is parked here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.groups.classic.answers import join_refusal
from barnabas.core.groups.classic.join import Join
from barnabas.core.groups.classic.leave import leave_answer, leaving_members
from barnabas.core.groups.config import MigrationPolicy
from barnabas.core.groups.consumer.departure import arm, arm_session, put_out
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.heartbeat import step, take_facts, take_over
from barnabas.core.groups.consumer.member import ConsumerMember, MemberState
from barnabas.core.groups.consumer.target import assignment_delay_ms
from barnabas.core.groups.embedded import CONSUMER_PROTOCOL_TYPE, read_subscription
from barnabas.core.groups.migration.downgrade import assignment_bytes, downgrade_if_possible
from barnabas.core.groups.records.consumer_group import ClassicFacet, ConsumerMemberValue
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState
    from barnabas.wire.messages import (
        HeartbeatRequest,
        JoinGroupResponseBody,
        LeaveGroupRequest,
        LeaveGroupResponseBody,
        SyncGroupRequest,
        SyncGroupResponseBody,
    )

_MEMBER_ID_REQUIRED_SINCE = 4


def join_classic_member(world: ShardState, group: ConsumerGroup, join: Join) -> None:
    _check_join(world, group, join)
    member_id = join.member_id or world.random_uuid()
    if not join.member_id and join.instance_id is None and join.version >= _MEMBER_ID_REQUIRED_SINCE:
        world.reply(join.token, join_refusal(ErrorCode.MEMBER_ID_REQUIRED, member_id, join.version))
        return
    subscription = read_subscription(join.protocols[0][1])
    if subscription is None:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the subscription cannot be read")
    before = _who(world, group, join, member_id)
    facts = ConsumerMemberValue(
        join.instance_id,
        subscription.rack_id,
        join.client_id,
        join.client_host,
        tuple(sorted(set(subscription.topics))),
        "",
        join.rebalance_timeout_ms,
        before.facts.server_assignor if before is not None else None,
        ClassicFacet(join.session_timeout_ms, join.protocols),
    )
    member = take_facts(world, group, member_id, before, facts)
    owned = {}
    for name, numbers in subscription.owned.items():
        topic_id = world.topics.topic_id(name)
        if topic_id is not None:
            owned[topic_id] = numbers
    member = step(world, group, member, owned)
    world.timers.cancel(("join", group.group_id, member_id))
    generation = member.epoch
    if not downgrade_if_possible(world, group):
        arm_session(world, group, member)
        arm(world, group, member_id, "sync", join.rebalance_timeout_ms)
    answer: JoinGroupResponseBody = {
        "error_code": 0,
        "generation_id": generation,
        "protocol_type": CONSUMER_PROTOCOL_TYPE,
        "protocol_name": join.protocols[0][0],
        "leader": "",
        "member_id": member_id,
        "members": [],
    }
    world.reply(join.token, answer)


def _check_join(world: ShardState, group: ConsumerGroup, join: Join) -> None:
    if world.config.group_consumer_migration_policy is MigrationPolicy.DISABLED:
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
            f"Cannot join the consumer group {group.group_id} with the classic protocol because the group migration is "
            "disabled.",
        )
    size_max = world.config.group_consumer_max_size
    if len(group.members) >= size_max and join.member_id not in group.members:
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"the group has its {size_max} members")
    others = [
        {name for name, _ in member.facts.classic.protocols}
        for member in group.members.values()
        if member.facts.classic is not None
    ]
    names = {name for name, _ in join.protocols}
    if join.protocol_type != CONSUMER_PROTOCOL_TYPE or not names.intersection(*others):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "the group has no protocol in common")


def _who(world: ShardState, group: ConsumerGroup, join: Join, member_id: str) -> ConsumerMember | None:
    if join.instance_id is None:
        return group.members.get(member_id)
    if join.member_id:
        return group.known_member(join.member_id, join.instance_id)
    existing = group.static_member(join.instance_id)
    return None if existing is None else take_over(world, group, existing, member_id)


def _classic_member(group: ConsumerGroup, request: SyncGroupRequest | HeartbeatRequest) -> ConsumerMember:
    member = group.known_member(request.member_id, request.group_instance_id)
    if not member.is_classic:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member.member_id} does not use the classic protocol")
    if request.generation_id != member.epoch:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"the member is in generation {member.epoch}")
    return member


def sync_classic_member(world: ShardState, group: ConsumerGroup, request: SyncGroupRequest) -> SyncGroupResponseBody:
    member = _classic_member(group, request)
    facet = member.facts.classic
    assert facet is not None
    wrong_type = request.protocol_type is not None and request.protocol_type != CONSUMER_PROTOCOL_TYPE
    wrong_name = request.protocol_name is not None and request.protocol_name != facet.protocols[0][0]
    if wrong_type or wrong_name:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "not the protocol of this member's join")
    if _is_behind(world, group, member) and member.place.state != MemberState.UNREVOKED_PARTITIONS:
        _expect_join(world, group, member)
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "the group has moved to another epoch")
    world.timers.cancel(("sync", group.group_id, member.member_id))
    arm_session(world, group, member)
    return {
        "error_code": 0,
        "protocol_type": request.protocol_type,
        "protocol_name": request.protocol_name,
        "assignment": assignment_bytes(world, member),
    }


def heartbeat_classic_member(world: ShardState, group: ConsumerGroup, request: HeartbeatRequest) -> ErrorCode:
    member = _classic_member(group, request)
    arm_session(world, group, member)
    if (
        _is_behind(world, group, member)
        or member.place.state == MemberState.UNREVOKED_PARTITIONS
        or (member.place.state == MemberState.UNRELEASED_PARTITIONS and not _still_waits(group, member))
    ):
        _expect_join(world, group, member)
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _is_behind(world: ShardState, group: ConsumerGroup, member: ConsumerMember) -> bool:
    """There is an assignment it has not seen, or one to be made now. One that has to wait or is being computed
    (KIP-1263) is no reason to rejoin: the member would join and synchronise over and over meanwhile."""
    if member.epoch < group.target_epoch:
        return True
    return member.epoch < group.epoch and not group.is_computing and not assignment_delay_ms(world, group)


def _still_waits(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Every partition it is missing is still somebody else's."""
    for topic_id, numbers in group.targets.get(member.member_id, {}).items():
        for number in numbers - member.place.assigned.get(topic_id, {}).keys():
            if (topic_id, number) not in group.owners:
                return False
    return True


def _expect_join(world: ShardState, group: ConsumerGroup, member: ConsumerMember) -> None:
    if not world.timers.is_set(("join", group.group_id, member.member_id)):
        arm(world, group, member.member_id, "join", member.facts.rebalance_timeout_ms)


def leave_classic_member(
    world: ShardState, group: ConsumerGroup, request: LeaveGroupRequest, version: int
) -> LeaveGroupResponseBody:
    """Members of either protocol: this is also how an administrator removes them."""
    results = []
    leaving = []
    for member_id, instance_id in leaving_members(request, version):
        code = ErrorCode.NONE
        try:
            found = group.static_member(instance_id) if not member_id else None
            member = group.known_member(found.member_id if found is not None else member_id, instance_id)
            if member.member_id not in leaving:
                leaving.append(member.member_id)
        except KafkaError as error:
            code = error.code
        results.append((member_id, instance_id, code))
    if leaving:
        put_out(world, group, leaving)
    return leave_answer(results, version)
