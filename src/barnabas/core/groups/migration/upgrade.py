"""A classic group of consumers becomes a consumer group, because a member of the new protocol wants in.

The classic members keep what they own: their last assignment becomes both target and place, in an epoch numbered like
the generation. Parked joins and syncs are told to come again; their next JoinGroup goes to classic_members.py. Refused,
with GROUP_ID_NOT_FOUND as Kafka does: when the policy says no, when the members are not consumers, when their
assignment carries data of an assignor of their own that the server could not continue. The assignors every client
brings are not counted among those: librdkafka's sticky ones leave a copy of the assignment there, and such groups may
move too.
"""

from typing import TYPE_CHECKING

from barnabas.core.groups.classic.answers import join_refusal, sync_refusal
from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.member import ClassicMember
from barnabas.core.groups.classic.rebalance import join_key, session_key, sync_key
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.member import ConsumerMember, MemberState, as_sets
from barnabas.core.groups.consumer.subscriptions import metadata_hash
from barnabas.core.groups.embedded import assignment_user_data, read_assignment, read_subscription
from barnabas.core.groups.records.assignments import CurrentAssignmentValue, encode_target
from barnabas.core.groups.records.consumer_group import (
    ClassicFacet,
    ConsumerGroupValue,
    ConsumerMemberValue,
    TargetEpochValue,
)
from barnabas.core.groups.records.keys import Kind, RecordKey
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState

_KNOWN_ASSIGNORS = frozenset({"range", "roundrobin", "sticky", "cooperative-sticky"})


def check_upgrade(world: "ShardState", group: ClassicGroup) -> None:
    if group.is_empty:
        return  # nobody there to migrate: the name changes hands
    problem = None
    if not world.config.group_consumer_migration_policy.may_upgrade:
        problem = "online upgrade is disabled"
    elif not group.uses_consumer_protocol:
        problem = "the group does not use the consumer embedded protocol"
    elif len(group.members) > world.config.group_consumer_max_size:
        problem = "the group size exceeds the consumer group maximum size"
    else:
        problem = next(filter(None, (_problem_of(group, member) for member in group.members.values())), None)
    if problem is not None:
        raise KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND,
            f"Cannot upgrade classic group {group.group_id} to consumer group because {problem}.",
        )


def _problem_of(group: ClassicGroup, member: ClassicMember) -> str | None:
    if read_subscription(_metadata(group, member)) is None or read_assignment(member.assignment) is None:
        return "the embedded consumer protocol is malformed"
    if group.protocol_name not in _KNOWN_ASSIGNORS and assignment_user_data(member.assignment):
        return (
            "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default "
            "assignor before re-attempting the upgrade"
        )
    return None


def upgrade(world: "ShardState", group: ClassicGroup) -> ConsumerGroup:
    _send_back_parked(world, group)
    world.tombstone(Kind.CLASSIC_GROUP, group.group_id)
    result = ConsumerGroup(group.group_id)
    world.groups[group.group_id] = result
    if not group.members:
        return result
    epoch = max(1, group.generation)
    for member in group.members.values():
        _add(world, result, group, member, epoch)
    result.facts = ConsumerGroupValue(epoch, metadata_hash(world, result))
    # The classic leader made this assignment: the server's first one does not wait for the interval of KIP-1263.
    result.target_facts = TargetEpochValue(epoch, 0)
    _write_all(world, result)
    return result


def _metadata(group: ClassicGroup, member: ClassicMember) -> bytes:
    found = member.metadata_for(group.protocol_name)
    return found or (member.protocols[0][1] if member.protocols else b"")


def _send_back_parked(world: "ShardState", group: ClassicGroup) -> None:
    world.timers.cancel(join_key(group.group_id))
    world.timers.cancel(sync_key(group.group_id))
    for member_id in group.pending_join:
        world.timers.cancel(session_key(group.group_id, member_id))
    again = ErrorCode.REBALANCE_IN_PROGRESS
    for member in group.members.values():
        if member.join_token is not None:
            world.reply(member.join_token, join_refusal(again, member.member_id), after_commit=False)
        if member.sync_token is not None:
            world.reply(member.sync_token, sync_refusal(again), after_commit=False)
        member.join_token = member.sync_token = None


def _add(world: "ShardState", result: ConsumerGroup, group: ClassicGroup, member: ClassicMember, epoch: int) -> None:
    from barnabas.core.groups.consumer.departure import arm_session

    subscription = read_subscription(_metadata(group, member))
    assigned: dict[bytes, dict[int, int]] = {}
    for name, numbers in (read_assignment(member.assignment) or {}).items():
        topic_id = world.topics.topic_id(name)
        for number in sorted(numbers) if topic_id is not None else ():
            assert topic_id is not None
            if (topic_id, number) not in result.owners:  # a client-side assignor may have given it twice
                assigned.setdefault(topic_id, {})[number] = epoch
    facts = ConsumerMemberValue(
        member.instance_id,
        subscription.rack_id if subscription is not None else None,
        member.client_id,
        member.client_host,
        tuple(sorted(set(subscription.topics))) if subscription is not None else (),
        "",
        member.rebalance_timeout_ms,
        None,
        ClassicFacet(member.session_timeout_ms, member.protocols),
    )
    place = CurrentAssignmentValue(epoch, epoch, MemberState.STABLE, assigned, {})
    classic_member = ConsumerMember(member.member_id, facts, place)
    result.put(classic_member)
    result.targets[member.member_id] = as_sets(assigned)
    arm_session(world, result, classic_member)


def _write_all(world: "ShardState", group: ConsumerGroup) -> None:
    group_id = group.group_id
    for member_id, member in group.members.items():
        world.write(RecordKey(Kind.CONSUMER_MEMBER, group_id, member_id), member.facts.encode())
    world.write(RecordKey(Kind.CONSUMER_GROUP, group_id), group.facts.encode())
    for member_id, target in group.targets.items():
        world.write(RecordKey(Kind.CONSUMER_TARGET_MEMBER, group_id, member_id), encode_target(target))
    world.write(RecordKey(Kind.CONSUMER_TARGET_EPOCH, group_id), group.target_facts.encode())
    for member_id, member in group.members.items():
        world.write(RecordKey(Kind.CONSUMER_CURRENT_MEMBER, group_id, member_id), member.place.encode())
