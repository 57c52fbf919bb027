"""Heartbeat (0-4): "I am here"; the answer tells the member when to join again.

While members synchronise (CompletingRebalance) a heartbeat is an ordinary one: telling a member to rejoin there would
set off a second rebalance for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.classic.rebalance import heard_from
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import HeartbeatRequest


def heartbeat_classic(world: ShardState, group: ClassicGroup, request: HeartbeatRequest) -> ErrorCode:
    member = group.known_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"the group is in generation {group.generation}")
    if group.is_empty:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {group.group_id!r} is empty")
    heard_from(world, group, member)
    preparing = group.state is ClassicState.PREPARING
    return ErrorCode.REBALANCE_IN_PROGRESS if preparing else ErrorCode.NONE
