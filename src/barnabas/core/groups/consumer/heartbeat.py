"""ConsumerGroupHeartbeat (0-1): the whole of the new protocol in one request (KIP-848).

Epoch 0 joins, a positive one beats, -1 leaves, -2 leaves for a moment (static members). A field that has not changed is
null. Version 1 lets the client make its member id and brought regular expressions. The steps of one beat: take what the
member says of itself; a changed subscription begins a new group epoch; a new epoch needs a new target; the member takes
one step towards its target. The answer carries an assignment only when it changed or a full request asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from barnabas.core.coordinator.contract import RequestInfo
from barnabas.core.groups.consumer.departure import (
    arm_revocation,
    arm_session,
    erase,
    keep_place,
    put_out,
    write_place,
)
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.member import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
    ConsumerMember,
    MemberState,
    as_sets,
)
from barnabas.core.groups.consumer.reconcile import owns_only, reconcile
from barnabas.core.groups.consumer.subscriptions import bump_epoch, compile_regex, update_regexes
from barnabas.core.groups.consumer.target import assignment_delay_ms, update_target
from barnabas.core.groups.consumer.validate import check_request
from barnabas.core.groups.migration.upgrade import check_upgrade, upgrade
from barnabas.core.groups.records.assignments import encode_target
from barnabas.core.groups.records.consumer_group import ConsumerMemberValue, Partitions
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import uuid_text

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState
    from barnabas.wire.messages import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponseBody,
        ConsumerGroupHeartbeatResponseTopicPartitionsBody,
    )


T = TypeVar("T")
_NEW_MEMBER = ConsumerMemberValue(None, None, "", "", (), "", -1, None, None)  # Kafka writes "no expression" as ""


def handle_consumer_heartbeat(
    world: ShardState, request: ConsumerGroupHeartbeatRequest, info: RequestInfo
) -> ConsumerGroupHeartbeatResponseBody:
    check_request(world, request, info.api_version)
    if request.member_epoch in (LEAVING_EPOCH, STATIC_LEAVING_EPOCH):
        return _leave(world, request)
    return _beat(world, request, info)


def _beat(
    world: ShardState, request: ConsumerGroupHeartbeatRequest, info: RequestInfo
) -> ConsumerGroupHeartbeatResponseBody:
    joins = request.member_epoch == JOINING_EPOCH
    group = _group(world, request, joins)
    member_id = request.member_id or uuid_text(world.rng.randbytes(16))
    owned = None
    if request.topic_partitions is not None:
        owned = {topic.topic_id: frozenset(topic.partitions) for topic in request.topic_partitions}
    before = _member(world, group, member_id, request, owned, joins)
    if request.subscribed_topic_regex:
        compile_regex(request.subscribed_topic_regex)
    world.groups[group.group_id] = group
    if info.may_describe is not None:
        group.may_describe = info.may_describe
    member = take_facts(world, group, member_id, before, _facts(before, request, info))
    before_sets = as_sets(before.place.assigned) if before is not None else {}
    member = step(world, group, member, owned)
    arm_session(world, group, member)
    answer: ConsumerGroupHeartbeatResponseBody = {
        "error_code": 0,
        "member_id": member_id,
        "member_epoch": member.epoch,
        "heartbeat_interval_ms": _interval_ms(world, group, member),
    }
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    is_full = request.rebalance_timeout_ms != -1 and subscribes and owned is not None
    if joins or is_full or as_sets(member.place.assigned) != before_sets:
        answer["assignment"] = {"topic_partitions": _topics(as_sets(member.place.assigned))}
    return answer


def _interval_ms(world: ShardState, group: ConsumerGroup, member: ConsumerMember) -> int:
    delay_ms = assignment_delay_ms(world, group)
    if delay_ms:  # it comes back when the assignment may be made; whoever comes first has it made
        soon_ms = max(delay_ms + 1, world.config.waiting_heartbeat_min_ms)
        return min(soon_ms, world.config.consumer_heartbeat_interval_ms(group.group_id))
    if group.is_computing:  # it takes a fraction of a second
        return min(world.config.waiting_heartbeat_min_ms, world.config.consumer_heartbeat_interval_ms(group.group_id))
    if member.place.state == MemberState.UNRELEASED_PARTITIONS:
        return world.config.waiting_heartbeat_interval_ms(group.group_id, len(group.members))
    return world.config.consumer_heartbeat_interval_ms(group.group_id)


def _topics(assigned: Mapping[bytes, frozenset[int]]) -> list[ConsumerGroupHeartbeatResponseTopicPartitionsBody]:
    return [{"topic_id": topic_id, "partitions": sorted(numbers)} for topic_id, numbers in sorted(assigned.items())]


# --- who is it -------------------------------------------------------------------------------------------------------


def _no_such_group(group: object, group_id: str) -> KafkaError:
    text = f"Consumer group {group_id} not found." if group is None else f"Group {group_id} is not a consumer group."
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text)


def _group(world: ShardState, request: ConsumerGroupHeartbeatRequest, joins: bool) -> ConsumerGroup:
    group = world.groups.get(request.group_id)
    if group is None or (not isinstance(group, ConsumerGroup) and not joins):
        if not joins:
            raise _no_such_group(group, request.group_id)
        return ConsumerGroup(request.group_id)
    size_max = world.config.group_consumer_max_size
    if len(group.members) >= size_max and request.member_id not in group.members:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {size_max} members.",
        )
    if isinstance(group, ConsumerGroup):
        return group
    check_upgrade(world, group)
    return upgrade(world, group)


def _member(
    world: ShardState,
    group: ConsumerGroup,
    member_id: str,
    request: ConsumerGroupHeartbeatRequest,
    owned: Partitions | None,
    joins: bool,
) -> ConsumerMember | None:
    """The member that speaks, None when it is new; refused when it is not who it says or not where it should be."""
    instance_id = request.instance_id
    if joins and instance_id is not None:
        existing = group.static_member(instance_id)
        if existing is None:
            return group.members.get(member_id)
        if existing.epoch == STATIC_LEAVING_EPOCH or (existing.is_classic and existing.member_id != member_id):
            return take_over(world, group, existing, member_id)
        if existing.member_id != member_id:
            raise KafkaError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance "
                f"id is owned by {existing.member_id} member.",
            )
        return existing
    if joins:
        return group.members.get(member_id)
    member = group.known_member(member_id, instance_id)
    _check_epoch(member, request.member_epoch, owned)
    return member


def _check_epoch(member: ConsumerMember, epoch: int, owned: Partitions | None) -> None:
    if epoch == member.epoch:
        return
    # One epoch behind, holding nothing it should not: the answer that carried the new epoch was lost on its way.
    lost_answer = epoch == member.place.previous_epoch and owns_only(owned, member.place.assigned)
    if epoch > member.epoch or not lost_answer:
        word = "greater" if epoch > member.epoch else "smaller"
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a {word} member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
        )


def take_over(world: ShardState, group: ConsumerGroup, existing: ConsumerMember, member_id: str) -> ConsumerMember:
    """A static member is back as a new process: it continues in the old one's place, from epoch 0."""
    target = group.targets.get(existing.member_id, {})
    erase(world, group, existing.member_id)
    place = replace(existing.place, member_epoch=0, previous_epoch=0, state=MemberState.STABLE, pending_revocation={})
    member = ConsumerMember(member_id, existing.facts, place)
    group.put(member)
    group.targets[member_id] = target
    world.write(RecordKey(Kind.CONSUMER_MEMBER, group.group_id, member_id), member.facts.encode())
    world.write(RecordKey(Kind.CONSUMER_TARGET_MEMBER, group.group_id, member_id), encode_target(target))
    write_place(world, group, member)
    return member


# --- what it says, and what follows ----------------------------------------------------------------------------------


def _facts(
    before: ConsumerMember | None, request: ConsumerGroupHeartbeatRequest, info: RequestInfo
) -> ConsumerMemberValue:
    """What a member says of itself; what it leaves out is as it was."""
    known = before.facts if before is not None else _NEW_MEMBER

    def said(value: T | None, before: T) -> T:
        return value if value is not None else before

    names = request.subscribed_topic_names
    timeout_ms = request.rebalance_timeout_ms if request.rebalance_timeout_ms != -1 else None
    return ConsumerMemberValue(
        said(request.instance_id, known.instance_id),
        said(request.rack_id, known.rack_id),
        info.client_id,
        info.shown_host,
        said(tuple(sorted(set(names))) if names is not None else None, known.topic_names),
        said(request.subscribed_topic_regex, known.topic_regex),
        said(timeout_ms, known.rebalance_timeout_ms),
        said(request.server_assignor, known.server_assignor),
        None,
    )


def take_facts(
    world: ShardState, group: ConsumerGroup, member_id: str, before: ConsumerMember | None, facts: ConsumerMemberValue
) -> ConsumerMember:
    """Remember what a member says of itself; another subscription (a new member's too) begins a new epoch."""
    member = ConsumerMember(member_id, facts) if before is None else ConsumerMember(member_id, facts, before.place)
    group.put(member)
    if before is not None and facts == before.facts:
        return member
    world.write(RecordKey(Kind.CONSUMER_MEMBER, group.group_id, member_id), facts.encode())
    resolved = update_regexes(world, group)
    known_names = before.facts.topic_names if before is not None else ()
    known_regex = (before.facts.topic_regex or "") if before is not None else ""
    if resolved or facts.topic_names != known_names or (facts.topic_regex or "") != known_regex:
        bump_epoch(world, group)
    return member


def step(world: ShardState, group: ConsumerGroup, member: ConsumerMember, owned: Partitions | None) -> ConsumerMember:
    """Run the assignor if the epoch asks for it, and move the member one step towards its target."""
    update_target(world, group)
    target = group.targets.get(member.member_id, {})
    place = reconcile(member, group.target_epoch, target, group.owners, owned)
    if place is member.place:
        return member
    moved = ConsumerMember(member.member_id, member.facts, place)
    group.put(moved)
    write_place(world, group, moved)
    arm_revocation(world, group, moved)
    return moved


# --- leaving ---------------------------------------------------------------------------------------------------------


def _leave(world: ShardState, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponseBody:
    group = world.groups.get(request.group_id)
    if not isinstance(group, ConsumerGroup):
        raise _no_such_group(group, request.group_id)
    member = group.known_member(request.member_id, request.instance_id)
    if request.member_epoch == STATIC_LEAVING_EPOCH and member.facts.instance_id is not None:
        keep_place(world, group, member)
    else:
        put_out(world, group, [member.member_id])
    return {"error_code": 0, "member_id": member.member_id, "member_epoch": request.member_epoch}
