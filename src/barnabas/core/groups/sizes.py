"""How many bytes members may bring: what is kept in memory, and what fits a record.

A classic group is one record with the metadata and the assignment of every member: it must fit a batch of the topic, or
no follower and no reader would take it. Kafka finds out when it writes; here a join that would make it too large is
refused with GROUP_MAX_SIZE_REACHED. An assignment that is too large is answered as in Kafka: everybody who waits for it
is told UNKNOWN_SERVER_ERROR and the group rebalances. The sum over all groups of the node has a limit too
(model/limits.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.member import ClassicMember, Protocols
from barnabas.core.groups.consumer.group import ConsumerGroup
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import (
    GROUP_MEMBER_METADATA_MAX_BYTES,
    GROUP_METADATA_NODE_MAX_BYTES,
    GROUP_RECORD_MAX_BYTES,
)

if TYPE_CHECKING:
    from barnabas.core.groups.shard_state import ShardState
    from barnabas.wire.messages import ConsumerGroupHeartbeatRequest

_MEMBER_BYTES = 256  # host, timeouts and lengths of a member, roughly
_NAME_BYTES = 16  # a topic's name beside its text


def protocol_bytes(protocols: Protocols) -> int:
    return sum(len(name) + len(metadata) for name, metadata in protocols)


def _kept_bytes(member: ClassicMember) -> int:
    return _MEMBER_BYTES + protocol_bytes(member.protocols) + len(member.assignment)


def _written_bytes(protocols: Protocols) -> int:
    """Of one member in the group's record: the largest of its protocols may be the one that is chosen."""
    return _MEMBER_BYTES + max((len(metadata) for _, metadata in protocols), default=0)


def _id_bytes(member: ClassicMember) -> int:
    return len(member.member_id) + len(member.instance_id or "") + len(member.client_id)


def group_bytes(group: ClassicGroup | ConsumerGroup) -> int:
    """What a group's members keep in memory of what they said, roughly."""
    if isinstance(group, ClassicGroup):
        return sum(map(_kept_bytes, group.members.values()))
    total = 0
    for member in group.members.values():
        facts = member.facts
        total += _MEMBER_BYTES + names_bytes(facts.topic_names)
        total += protocol_bytes(facts.classic.protocols) if facts.classic is not None else 0
    return total


def names_bytes(names: Iterable[str] | None) -> int:
    return sum(len(name) + _NAME_BYTES for name in names or ())


def check_join(world: ShardState, group: ClassicGroup | None, member_id: str, protocols: Protocols) -> None:
    """Whether a classic member may bring this; raises before anything has changed."""
    brought = protocol_bytes(protocols)
    if brought > GROUP_MEMBER_METADATA_MAX_BYTES:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"a member brings at most {GROUP_MEMBER_METADATA_MAX_BYTES} bytes of metadata"
        )
    written = _written_bytes(protocols)
    for other in group.members.values() if group is not None else ():
        if other.member_id != member_id:
            written += _written_bytes(other.protocols) + _id_bytes(other)
    if written > GROUP_RECORD_MAX_BYTES:
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"the metadata of the group's members would be larger than {GROUP_RECORD_MAX_BYTES} bytes",
        )
    check_node(world, brought)


def check_node(world: ShardState, more: int) -> None:
    if world.budget is not None and not world.budget.admits(more, world.now_ms):
        raise KafkaError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"the groups of this node hold {GROUP_METADATA_NODE_MAX_BYTES} bytes of metadata already",
        )


def check_heartbeat(world: ShardState, request: ConsumerGroupHeartbeatRequest) -> None:
    """A member of the consumer protocol that says what it reads: one record has to hold it."""
    if not request.subscribed_topic_names:
        return
    size = names_bytes(request.subscribed_topic_names)
    if size > GROUP_RECORD_MAX_BYTES:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"SubscribedTopicNames is larger than {GROUP_RECORD_MAX_BYTES} bytes."
        )
    check_node(world, size)


def fits_record(group: ClassicGroup, assignments: dict[str, bytes]) -> bool:
    """Whether the group can be written with what its leader assigned."""
    size = sum(
        _MEMBER_BYTES
        + _id_bytes(member)
        + len(member.metadata_for(group.protocol_name))
        + len(assignments.get(member.member_id, b""))
        for member in group.members.values()
    )
    return size <= GROUP_RECORD_MAX_BYTES
