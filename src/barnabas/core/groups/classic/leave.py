"""LeaveGroup (0-5) of a classic group: one member (0-2) or many at once (3+), static ones by instance id alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.rebalance import after_departure, drop_member, drop_pending
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.wire.messages import LeaveGroupRequest, LeaveGroupResponseBody

_BATCH_SINCE = 3


def leaving_members(request: LeaveGroupRequest, version: int) -> list[tuple[str, str | None]]:
    if version < _BATCH_SINCE:
        return [(request.member_id, None)]
    return [(member.member_id, member.group_instance_id) for member in request.members]


def leave_answer(results: list[tuple[str, str | None, ErrorCode]], version: int) -> LeaveGroupResponseBody:
    if version < _BATCH_SINCE:
        return {"error_code": int(results[0][2])}
    return {
        "error_code": 0,
        "members": [
            {"member_id": member_id, "group_instance_id": instance_id, "error_code": int(code)}
            for member_id, instance_id, code in results
        ],
    }


def leave_classic(
    world: ShardState, group: ClassicGroup, request: LeaveGroupRequest, version: int
) -> LeaveGroupResponseBody:
    results = []
    departed = False
    for member_id, instance_id in leaving_members(request, version):
        try:
            departed |= _leave(world, group, member_id, instance_id)
            code = ErrorCode.NONE
        except KafkaError as error:
            code = error.code
        results.append((member_id, instance_id, code))
    if departed:
        after_departure(world, group)
    return leave_answer(results, version)


def _leave(world: ShardState, group: ClassicGroup, member_id: str, instance_id: str | None) -> bool:
    """True when a full member went (the group must rebalance), False when only an unused id did."""
    if not member_id and instance_id is not None:  # an administrator removes a static member by its name
        member_id = group.static_members.get(instance_id, "")
    if instance_id is None and member_id in group.pending_join:
        drop_pending(world, group, member_id)
        return False
    drop_member(world, group, group.known_member(member_id, instance_id))
    return True
