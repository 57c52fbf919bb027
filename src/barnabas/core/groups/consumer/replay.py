"""Consumer group records back into state. Order is the log's; any of them may be missing after compaction."""

from typing import TYPE_CHECKING

from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.core.groups.consumer.member import NOWHERE, ConsumerMember
from barnabas.core.groups.records.assignments import decode_current, decode_target
from barnabas.core.groups.records.consumer_group import (
    ConsumerMemberValue,
    TargetEpochValue,
    decode_consumer_group,
    decode_consumer_member,
    decode_regex,
    decode_target_epoch,
)
from barnabas.core.groups.records.keys import Kind, RecordKey

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState

CONSUMER_KINDS = frozenset(
    {
        Kind.CONSUMER_GROUP,
        Kind.CONSUMER_PARTITION_METADATA,
        Kind.CONSUMER_MEMBER,
        Kind.CONSUMER_TARGET_EPOCH,
        Kind.CONSUMER_TARGET_MEMBER,
        Kind.CONSUMER_CURRENT_MEMBER,
        Kind.CONSUMER_REGEX,
    }
)


def replay_consumer(world: "ShardState", key: RecordKey, value: bytes | None) -> None:
    group = world.groups.get(key.group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:
            return  # a tombstone of something compaction has already taken
        group = world.groups[key.group_id] = ConsumerGroup(key.group_id)
    if value is None:
        _remove(world, group, key)
    else:
        _take(group, key, value)


def _take(group: ConsumerGroup, key: RecordKey, value: bytes) -> None:
    match key.kind:
        case Kind.CONSUMER_GROUP:
            group.facts = decode_consumer_group(value)
        case Kind.CONSUMER_MEMBER:
            known = group.members.get(key.name)
            place = known.place if known is not None else NOWHERE
            group.put(ConsumerMember(key.name, decode_consumer_member(value), place))
        case Kind.CONSUMER_TARGET_EPOCH:
            group.target_facts = decode_target_epoch(value)
        case Kind.CONSUMER_TARGET_MEMBER:
            group.targets[key.name] = decode_target(value)
        case Kind.CONSUMER_CURRENT_MEMBER:
            known = group.members.get(key.name)
            facts = known.facts if known is not None else _UNKNOWN_FACTS
            group.put(ConsumerMember(key.name, facts, decode_current(value)))
        case Kind.CONSUMER_REGEX:
            group.regexes[key.name] = decode_regex(value)


def _remove(world: "ShardState", group: ConsumerGroup, key: RecordKey) -> None:
    match key.kind:
        case Kind.CONSUMER_GROUP:
            del world.groups[key.group_id]
        case Kind.CONSUMER_MEMBER:
            group.remove(key.name)
        case Kind.CONSUMER_TARGET_EPOCH:
            group.target_facts = TargetEpochValue(1)
        case Kind.CONSUMER_TARGET_MEMBER:
            group.targets.pop(key.name, None)
        case Kind.CONSUMER_CURRENT_MEMBER:
            known = group.members.get(key.name)
            if known is not None:
                group.put(ConsumerMember(key.name, known.facts))
        case Kind.CONSUMER_REGEX:
            group.regexes.pop(key.name, None)


def is_fragment(member: ConsumerMember) -> bool:
    return member.facts is _UNKNOWN_FACTS


# A member's place may come back before its facts, when compaction kept a newer record of the latter.
_UNKNOWN_FACTS = ConsumerMemberValue(None, None, "", "", (), "", -1, None)
