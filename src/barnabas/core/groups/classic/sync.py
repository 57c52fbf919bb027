"""SyncGroup (0-5): the leader brings the assignment, everybody fetches its own part.

Version 3 added static members, version 5 the protocol type and name, which must match when given (KIP-559).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import Token
from barnabas.core.groups.classic.answers import sync_answer, sync_refusal
from barnabas.core.groups.classic.group import ClassicGroup, ClassicState
from barnabas.core.groups.classic.rebalance import (
    heard_from,
    prepare,
    refuse_parked_syncs,
    spread_assignment,
    synced,
)
from barnabas.core.groups.shard_state import ShardState
from barnabas.core.groups.sizes import fits_record
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import SyncGroupRequest, SyncGroupResponseBody


def sync_classic(
    world: ShardState, group: ClassicGroup, request: SyncGroupRequest, token: Token[SyncGroupResponseBody]
) -> None:
    member = group.known_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION, f"the group is in generation {group.generation}")
    if request.protocol_type is not None and request.protocol_type != group.protocol_type:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the group's type is {group.protocol_type!r}")
    if request.protocol_name is not None and request.protocol_name != group.protocol_name:
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"the group's protocol is {group.protocol_name!r}")
    if group.state is ClassicState.EMPTY:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"group {group.group_id!r} is empty")
    if group.state is ClassicState.PREPARING:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS, "the group has begun another rebalance")
    synced(world, group, member.member_id)
    if group.state is ClassicState.STABLE:
        heard_from(world, group, member)
        world.reply(token, sync_answer(group, member))
        return
    if member.sync_token is not None:  # asked again on another connection: the first caller is gone
        world.reply(member.sync_token, sync_refusal(ErrorCode.REBALANCE_IN_PROGRESS), after_commit=False)
    member.sync_token = token
    if member.member_id == group.leader_id:
        assignments = {part.member_id: bytes(part.assignment) for part in request.assignments}
        if not fits_record(group, assignments) or not _is_admitted(world, assignments):
            # As in Kafka, when the record cannot be written: nobody is assigned anything, and the group tries again.
            refuse_parked_syncs(world, group, ErrorCode.UNKNOWN_SERVER_ERROR)
            prepare(world, group)
            return
        spread_assignment(world, group, assignments)


def _is_admitted(world: ShardState, assignments: dict[str, bytes]) -> bool:
    return world.budget is None or world.budget.admits(sum(map(len, assignments.values())), world.now_ms)
